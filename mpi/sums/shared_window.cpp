#include "mpi/sums/shared_window.hpp"

#include <algorithm>
#include <climits>
#include <exception>
#include <new>

#include <linux/futex.h>
#include <sched.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mpi/session/mpi_call.hpp"

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

bool spin(const SequenceFlag& flag, std::uint32_t target, int times,
          const void* near = nullptr) noexcept {
  for (int i = 0; i < times; ++i) {
    if (near != nullptr) __builtin_prefetch(near);
    if (flag.reached(target)) return true;
    pause_core();
  }
  return flag.reached(target);
}

constexpr std::size_t kPage = SharedWindow::kPage;

/// Of a rank's part of the window: a page for flag and offers, then its floats.
std::size_t part_bytes(std::size_t floats) {
  return kPage + SharedWindow::page_rounded(floats * sizeof(float));
}

/// Room to begin each part on a page, wherever MPI lets it begin.
std::size_t asked_bytes(std::size_t floats) { return part_bytes(floats) + kPage; }

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
  return reinterpret_cast<std::byte*>(
      SharedWindow::page_rounded(reinterpret_cast<std::size_t>(base)));
}

}  // namespace

// The value is written before the sleepers are read, and a sleeper counts
// itself before it reads the value: in the one order that all these have, one
// of the two sees the other. And the kernel lets no process sleep on a value
// that has changed.
void SequenceFlag::wake() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_relaxed) != 0) futex(value, FUTEX_WAKE, INT_MAX);
}

bool SequenceFlag::reached_soon(std::uint32_t target, bool crowded,
                                const void* near) const noexcept {
  return spin(*this, target, crowded ? 0 : kSpins, near);
}

void SequenceFlag::await(std::uint32_t target, bool crowded) noexcept {
  if (spin(*this, target, crowded ? 0 : kLongSpins)) return;
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
      crowded_(ranks.size() > sysconf(_SC_NPROCESSORS_ONLN)),
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

}  // namespace rueda
