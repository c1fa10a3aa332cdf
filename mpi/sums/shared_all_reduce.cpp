#include "shared_all_reduce.hpp"

#include <algorithm>
#include <climits>
#include <exception>
#include <new>

#include <fmt/format.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mpi/session/mpi_call.hpp"
#include "rueda/core/error.hpp"
#include "rueda/reduce/ring_plan.hpp"

namespace rueda {
namespace {

constexpr int kSpins = 64;
constexpr int kLongSpins = 512;
constexpr int kYields = 64;

static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

void pause_core() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Not the private kind: the processes that wait have different address spaces.
void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t number) noexcept {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, number, nullptr, nullptr,
          0);
}

bool spin(const SequenceFlag& flag, std::uint32_t target, int times) noexcept {
  for (int i = 0; i < times; ++i) {
    if (flag.reached(target)) return true;
    pause_core();
  }
  return flag.reached(target);
}

/// Parts begin on pages, so that each rank's memory lies near it and no two share a cache line.
constexpr std::size_t kPage = 4096;

std::size_t page_rounded(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

std::size_t mailboxes_bytes(std::size_t mailbox) {
  return page_rounded(2 * mailbox * sizeof(float));
}

std::size_t part_bytes(std::size_t arena, std::size_t mailbox) {
  return kPage + mailboxes_bytes(mailbox) + page_rounded(arena * sizeof(float));
}

/// Room to begin each part on a page, wherever MPI lets it begin.
std::size_t asked_bytes(std::size_t arena, std::size_t mailbox) {
  return part_bytes(arena, mailbox) + kPage;
}

MPI_Win allocate(MPI_Comm ranks, std::size_t bytes) {
  MPI_Info info = MPI_INFO_NULL;
  check(MPI_Info_create(&info), "MPI_Info_create");
  check(MPI_Info_set(info, "alloc_shared_noncontig", "true"), "MPI_Info_set");
  void* mine = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  const MpiCall call("MPI_Win_allocate_shared");
  const int code =
      MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes), 1, info, ranks, &mine, &window);
  MPI_Info_free(&info);
  check(code, "MPI_Win_allocate_shared");
  return window;
}

std::byte* part_of(MPI_Win window, int rank) {
  MPI_Aint size = 0;
  int unit = 0;
  void* base = nullptr;
  check(MPI_Win_shared_query(window, rank, &size, &unit, &base), "MPI_Win_shared_query");
  // Pages are pages for every process, so all of them round the same way.
  return reinterpret_cast<std::byte*>(page_rounded(reinterpret_cast<std::size_t>(base)));
}

}  // namespace

// The value is written before the sleepers are read, and a sleeper counts
// itself before it reads the value: in the one order that all these have, one
// of the two sees the other. And the kernel lets no process sleep on a value
// that has changed.
void SequenceFlag::raise(std::uint32_t to) noexcept {
  value.store(to, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) != 0) futex(value, FUTEX_WAKE, INT_MAX);
}

bool SequenceFlag::reached_soon(std::uint32_t target) const noexcept {
  return spin(*this, target, kSpins);
}

void SequenceFlag::await(std::uint32_t target) noexcept {
  if (spin(*this, target, kLongSpins)) return;
  for (int i = 0; i < kYields; ++i) {
    sched_yield();
    if (reached(target)) return;
  }
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  for (;;) {
    const std::uint32_t now = value.load(std::memory_order_seq_cst);
    if (std::int32_t(now - target) >= 0) break;
    futex(value, FUTEX_WAIT, now);
  }
  sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

SharedWindow::SharedWindow(const Communicator& ranks, std::size_t arena, std::size_t mailbox)
    : window_(allocate(ranks.handle(), asked_bytes(arena, mailbox))),
      uncaught_(std::uncaught_exceptions()),
      arena_(arena),
      mailbox_(mailbox) {
  static_assert(sizeof(Head) <= kPage);
  for (int rank = 0; rank < ranks.size(); ++rank) parts_.push_back(part_of(window_, rank));
  std::byte* mine = parts_[std::size_t(ranks.rank())];
  // A page lies near the process that writes it first.
  std::fill_n(mine, part_bytes(arena_, mailbox_), std::byte{0});
  new (mine) Head{};
  call_mpi("MPI_Barrier", MPI_Barrier, ranks.handle());
}

SharedWindow::~SharedWindow() {
  if (std::uncaught_exceptions() == uncaught_ && mpi_is_active()) MPI_Win_free(&window_);
}

std::size_t SharedWindow::bytes(int ranks, std::size_t arena, std::size_t mailbox) {
  return std::size_t(ranks) * asked_bytes(arena, mailbox);
}

SharedWindow::Head& SharedWindow::head(int rank) const {
  return *std::launder(reinterpret_cast<Head*>(parts_[std::size_t(rank)]));
}

std::span<float> SharedWindow::mailbox(int rank, std::size_t turn) const {
  auto* first = reinterpret_cast<float*>(parts_[std::size_t(rank)] + kPage);
  return {first + turn * mailbox_, mailbox_};
}

std::span<float> SharedWindow::arena(int rank) const {
  std::byte* part = parts_[std::size_t(rank)];
  return {reinterpret_cast<float*>(part + kPage + mailboxes_bytes(mailbox_)), arena_};
}

std::size_t free_shared_memory() {
  struct statvfs room {};
  if (statvfs("/dev/shm", &room) != 0) return 0;
  return std::size_t(room.f_bavail) * room.f_frsize;
}

// The shared window, in words.
//
// Each rank counts its meetings in a flag that all can see. A rank has come to
// meeting m when its flag is m or more; it goes on when all flags are.
//
// A slice of the arena takes two meetings. At the first, all slices are ready.
// Then rank r sums chunk r of all arenas and writes it into all of them; no
// other rank reads or writes that chunk. At the second, all chunks are written.
//
// Through mailboxes it takes one. A rank writes its values into its mailbox,
// meets, and reads the mailboxes of all. It may go on and write the next values
// while others still read these: so there are two mailboxes, which take turns.
// Writing again into the same one is safe, because before that it was at a
// meeting in between, to which every rank came after it had read. The same
// holds for the offers, which name the slice that a rank is about to sum.

SharedAllReduce::SharedAllReduce(const Communicator& ranks, ReduceDevice& device,
                                 std::size_t arena_floats, std::size_t mailbox_floats)
    : ranks_(ranks),
      device_(device),
      window_(ranks, arena_floats, mailbox_floats),
      from_(std::size_t(ranks.size())),
      to_(std::size_t(ranks.size())),
      mailbox_floats_(mailbox_floats) {}

Event SharedAllReduce::sum(std::span<float> slice, Event ready) {
  if (ranks_.size() == 1 || slice.empty()) return ready;
  device_.wait(ready);
  if (slice.size() > std::min(kShortFloats, mailbox_floats_) &&
      lies_in(slice, window_.arena(ranks_.rank()))) {
    sum_in_place(slice);
    return {};
  }
  for (std::size_t begin = 0; begin < slice.size(); begin += mailbox_floats_)
    sum_by_mailbox(slice.subspan(begin, std::min(mailbox_floats_, slice.size() - begin)));
  return {};
}

void SharedAllReduce::sum_in_place(std::span<float> slice) {
  const auto offset = std::size_t(slice.data() - window_.arena(ranks_.rank()).data());
  meet({offset, slice.size()});
  journal().add("shared", 0, [&] {
    const Range chunk = RingPlan{slice.size(), ranks_.rank(), ranks_.size()}.chunk(ranks_.rank());
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      const auto i = std::size_t(rank);
      from_[i] = to_[i] = window_.arena(rank).data() + offset + chunk.begin;
    }
    device_.sum_all(from_, to_, chunk.size());
  });
  window_.flag(ranks_.rank()).raise(++round_);
  wait_for_all();
}

void SharedAllReduce::sum_by_mailbox(std::span<float> block) {
  const std::size_t turn = (round_ + 1) % 2;
  std::copy(block.begin(), block.end(), window_.mailbox(ranks_.rank(), turn).begin());
  meet({SharedWindow::kMailbox, block.size()});
  journal().add("shared", 0, [&] {
    for (int rank = 0; rank < ranks_.size(); ++rank)
      from_[std::size_t(rank)] = window_.mailbox(rank, turn).data();
    to_[0] = block.data();
    device_.sum_all(from_, std::span(to_).first(1), block.size());
  });
}

void SharedAllReduce::meet(const Offer& mine) {
  ++round_;
  const std::size_t turn = round_ % 2;
  window_.offer(ranks_.rank(), turn) = mine;
  window_.flag(ranks_.rank()).raise(round_);
  wait_for_all();
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    if (window_.offer(rank, turn) == mine) continue;
    throw RunError(
        fmt::format("rank {} sums {} floats and rank {} {}, or another part of the gradients: the "
                    "ranks are not "
                    "at the same step",
                    ranks_.world_rank(ranks_.rank()), mine.length, ranks_.world_rank(rank),
                    window_.offer(rank, turn).length));
  }
}

void SharedAllReduce::wait_for_all() {
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    SequenceFlag& flag = window_.flag(rank);
    if (flag.reached_soon(round_)) continue;
    journal().transfer("shared", 0, -1, ranks_.world_rank(rank), [&] { flag.await(round_); });
  }
}

}  // namespace rueda
