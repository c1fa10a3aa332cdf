#include "sequence_flag.hpp"

#include <climits>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

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

}  // namespace

// The value is written before the sleepers are read, and a sleeper counts itself before it reads
// the value: in the one order that all these have, one of the two sees the other. And the kernel
// lets nobody sleep on a value that has changed.
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
    if (static_cast<std::int32_t>(now - target) >= 0) break;
    futex(value, FUTEX_WAIT, now);
  }
  sleepers.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace rueda
