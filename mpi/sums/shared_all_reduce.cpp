#include "mpi/sums/shared_all_reduce.hpp"

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

#include "base/error.hpp"
#include "mpi/session/mpi_call.hpp"
#include "reduce/ring_plan.hpp"

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

/// Of a rank's part of the window: a page for flag and offers, then its floats.
std::size_t part_bytes(std::size_t floats) { return kPage + page_rounded(floats * sizeof(float)); }

/// Room to begin each part on a page, wherever MPI lets it begin.
std::size_t asked_bytes(std::size_t floats) { return part_bytes(floats) + kPage; }

/// Where the arena begins in a rank's floats, behind the mailboxes.
std::size_t arena_begin(std::size_t mailbox) {
  return page_rounded(2 * mailbox * sizeof(float)) / sizeof(float);
}

std::size_t part_floats(std::size_t arena, std::size_t mailbox) {
  return arena_begin(mailbox) + arena;
}

/// Of them, those that lie in the window.
std::size_t window_floats(const ReduceDevice& device, std::size_t arena, std::size_t mailbox) {
  return device.memory_is_on_host() ? part_floats(arena, mailbox) : 0;
}

/// None where the window does it, and where there is no peer.
std::unique_ptr<PeerMemory> map_peers(RankGroup& ranks, ReduceDevice& device, std::size_t floats) {
  if (device.memory_is_on_host() || ranks.size() == 1) return nullptr;
  return std::make_unique<PeerMemory>(ranks, device, floats);
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

SharedWindow::SharedWindow(const Communicator& ranks, std::size_t floats)
    : window_(allocate(ranks.handle(), asked_bytes(floats))),
      uncaught_(std::uncaught_exceptions()) {
  static_assert(sizeof(Head) <= kPage);
  for (int rank = 0; rank < ranks.size(); ++rank) parts_.push_back(part_of(window_, rank));
  std::byte* mine = parts_[std::size_t(ranks.rank())];
  // A page lies near the process that writes it first.
  std::fill_n(mine, part_bytes(floats), std::byte{0});
  new (mine) Head{};
  call_mpi("MPI_Barrier", MPI_Barrier, ranks.handle());
}

SharedWindow::~SharedWindow() {
  if (std::uncaught_exceptions() == uncaught_ && mpi_is_active()) MPI_Win_free(&window_);
}

std::size_t SharedWindow::bytes(int ranks, std::size_t floats) {
  return std::size_t(ranks) * asked_bytes(floats);
}

SharedWindow::Head& SharedWindow::head(int rank) const {
  return *std::launder(reinterpret_cast<Head*>(parts_[std::size_t(rank)]));
}

float* SharedWindow::floats(int rank) const {
  return reinterpret_cast<float*>(parts_[std::size_t(rank)] + kPage);
}

std::size_t free_shared_memory() {
  struct statvfs room {};
  if (statvfs("/dev/shm", &room) != 0) return 0;
  return std::size_t(room.f_bavail) * room.f_frsize;
}

// The sums, in words.
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
//
// On GPUs, ranks meet on the host. A rank raises its flag when the host has seen
// the end of all its device's work on the slice: then what that wrote is in
// memory, of whichever GPU. A peer begins to read after it has seen the flag, by
// a kernel that it queues then. So no kernel waits for another one, and no GPU
// has to be there for a peer to go on: two ranks may share one.

SharedAllReduce::SharedAllReduce(Communicator& ranks, ReduceDevice& device,
                                 std::size_t arena_floats, std::size_t mailbox_floats)
    : ranks_(ranks),
      device_(device),
      arena_floats_(arena_floats),
      mailbox_floats_(mailbox_floats),
      short_floats_(device.memory_is_on_host() ? std::min(kShortFloats, mailbox_floats) : 0),
      peers_(map_peers(ranks, device, part_floats(arena_floats, mailbox_floats))),
      window_(ranks, window_floats(device, arena_floats, mailbox_floats)),
      from_(std::size_t(ranks.size())),
      to_(std::size_t(ranks.size())) {
  for (int rank = 0; rank < ranks.size(); ++rank)
    parts_.push_back(peers_ ? peers_->block(rank) : window_.floats(rank));
}

std::size_t SharedAllReduce::window_bytes(int ranks, const ReduceDevice& device,
                                          std::size_t arena_floats) {
  return SharedWindow::bytes(ranks, window_floats(device, arena_floats, kMailboxFloats));
}

std::span<float> SharedAllReduce::arena() {
  if (!peers_ && !device_.memory_is_on_host()) return {};  // one rank
  return {arena_of(ranks_.rank()), arena_floats_};
}

float* SharedAllReduce::mailbox_of(int rank, std::size_t turn) const {
  return parts_[std::size_t(rank)] + turn * mailbox_floats_;
}

float* SharedAllReduce::arena_of(int rank) const {
  return parts_[std::size_t(rank)] + arena_begin(mailbox_floats_);
}

Event SharedAllReduce::sum(std::span<float> slice, Event ready) {
  if (ranks_.size() == 1 || slice.empty()) return ready;
  device_.wait(ready);
  if (slice.size() > short_floats_ && lies_in(slice, arena())) {
    sum_in_place(slice);
    return {};
  }
  for (std::size_t begin = 0; begin < slice.size(); begin += mailbox_floats_)
    sum_by_mailbox(slice.subspan(begin, std::min(mailbox_floats_, slice.size() - begin)));
  return {};
}

void SharedAllReduce::sum_in_place(std::span<float> slice) {
  const auto offset = std::size_t(slice.data() - arena().data());
  meet({offset, slice.size()});
  journal().add("shared", 0, [&] {
    const Range chunk = RingPlan{slice.size(), ranks_.rank(), ranks_.size()}.chunk(ranks_.rank());
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      const auto i = std::size_t(rank);
      from_[i] = to_[i] = arena_of(rank) + offset + chunk.begin;
    }
    device_.sum_all(from_, to_, chunk.size());
  });
  window_.flag(ranks_.rank()).raise(++round_);
  wait_for_all();
}

void SharedAllReduce::sum_by_mailbox(std::span<float> block) {
  const std::size_t turn = (round_ + 1) % 2;
  device_.copy({mailbox_of(ranks_.rank(), turn), block.size()}, block);
  device_.wait(device_.record_own());
  meet({SharedWindow::kMailbox, block.size()});
  journal().add("shared", 0, [&] {
    for (int rank = 0; rank < ranks_.size(); ++rank)
      from_[std::size_t(rank)] = mailbox_of(rank, turn);
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
