// A fortified longjmp takes the jump to another stack for an error.
#undef _FORTIFY_SOURCE

#include "block.hpp"

#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include <ucontext.h>

namespace rueda::standin {
namespace {

constexpr std::size_t kStackBytes = std::size_t{128} << 10;

enum class State { fresh, running, at_block_barrier, at_exchange, ended };

struct Thread {
  uint3 index{};
  State state = State::fresh;
  unsigned mask = 0;  // of the exchange it waits in
  std::uint64_t given = 0;
  std::array<std::uint64_t, kWarp> taken{};  // what its warp had given when it went on
};

/// A stack on which threads run; more than one is needed only where threads wait.
struct Fibre {
  std::jmp_buf here;
  ucontext_t start{};
  std::unique_ptr<std::byte[]> stack;
  bool started = false;
  bool parked = false;  // in the middle of a thread
  std::size_t thread = 0;
};

/// What one thread of the host needs to run blocks.
struct Runner {
  std::jmp_buf scheduler;
  std::vector<std::unique_ptr<Fibre>> fibres;
  Fibre* fibre = nullptr;
  const std::function<void()>* kernel = nullptr;
  std::vector<Thread> threads;
  std::size_t next = 0;  // the first thread that has not begun
};

thread_local Runner* runner = nullptr;

Thread& current() { return runner->threads[runner->fibre->thread]; }

void leave_fibre() {
  if (_setjmp(runner->fibre->here) == 0) std::longjmp(runner->scheduler, 1);
}

void begin_thread(std::size_t i) {
  runner->fibre->thread = i;
  runner->threads[i].state = State::running;
  threadIdx = runner->threads[i].index;
  (*runner->kernel)();
  current().state = State::ended;
}

/// Threads run on the same fibre one after another, as long as none of them has to wait.
void run_fibre() {
  for (;;) {
    while (runner->next < runner->threads.size()) begin_thread(runner->next++);
    runner->fibre->parked = false;
    leave_fibre();
  }
}

void prepare(Fibre& fibre) {
  fibre.stack = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
  getcontext(&fibre.start);
  fibre.start.uc_stack.ss_sp = fibre.stack.get();
  fibre.start.uc_stack.ss_size = kStackBytes;
  fibre.start.uc_link = nullptr;
  makecontext(&fibre.start, run_fibre, 0);
}

void enter(Fibre& fibre) {
  runner->fibre = &fibre;
  if (_setjmp(runner->scheduler) != 0) return;
  if (fibre.started) std::longjmp(fibre.here, 1);
  fibre.started = true;
  setcontext(&fibre.start);
}

Fibre& free_fibre() {
  for (const auto& fibre : runner->fibres) {
    if (!fibre->parked) return *fibre;
  }
  runner->fibres.push_back(std::make_unique<Fibre>());
  prepare(*runner->fibres.back());
  return *runner->fibres.back();
}

void park(State state) {
  current().state = state;
  runner->fibre->parked = true;
  leave_fibre();
  current().state = State::running;
  threadIdx = current().index;
}

/// Whether all that an exchange is meant for have come to it or ended.
bool may_leave_exchange(std::size_t thread) {
  const std::size_t first = thread / kWarp * kWarp;
  const unsigned mask = runner->threads[thread].mask;
  for (unsigned i = 0; i < kWarp && first + i < runner->threads.size(); ++i) {
    const Thread& other = runner->threads[first + i];
    if ((mask >> i & 1U) == 0 || other.state == State::ended) continue;
    if (other.state != State::at_exchange || other.mask != mask) return false;
  }
  return true;
}

void take_from_warp(std::size_t thread) {
  const std::size_t first = thread / kWarp * kWarp;
  for (unsigned i = 0; i < kWarp && first + i < runner->threads.size(); ++i) {
    runner->threads[thread].taken[i] = runner->threads[first + i].given;
  }
}

std::vector<Fibre*> parked_fibres() {
  std::vector<Fibre*> parked;
  for (const auto& fibre : runner->fibres) {
    if (fibre->parked) parked.push_back(fibre.get());
  }
  return parked;
}

std::vector<Fibre*> ready_of(const std::vector<Fibre*>& parked) {
  std::vector<Fibre*> ready;
  bool all_at_barrier = true;
  for (Fibre* fibre : parked) {
    const bool exchanges = runner->threads[fibre->thread].state == State::at_exchange;
    if (exchanges) all_at_barrier = false;
    if (exchanges && may_leave_exchange(fibre->thread)) ready.push_back(fibre);
  }
  return all_at_barrier ? parked : ready;
}

void resume_until_all_ended() {
  for (auto parked = parked_fibres(); !parked.empty(); parked = parked_fibres()) {
    const auto ready = ready_of(parked);
    if (ready.empty()) {
      std::fputs("stand-in: threads of a block wait for each other in different places\n", stderr);
      std::abort();
    }
    // Before any of them goes on and gives something else.
    for (const Fibre* fibre : ready) take_from_warp(fibre->thread);
    for (Fibre* fibre : ready) enter(*fibre);
  }
}

void run_block() {
  for (Thread& thread : runner->threads) thread.state = State::fresh;
  runner->next = 0;
  while (runner->next < runner->threads.size()) enter(free_fibre());
  resume_until_all_ended();
}

void place_threads(dim3 size) {
  runner->threads.clear();
  for (unsigned z = 0; z < size.z; ++z) {
    for (unsigned y = 0; y < size.y; ++y) {
      for (unsigned x = 0; x < size.x; ++x) runner->threads.push_back({.index = {x, y, z}});
    }
  }
}

}  // namespace

void run_grid(dim3 grid, dim3 block_size, const std::function<void()>& kernel) {
  static thread_local Runner own;
  runner = &own;
  own.kernel = &kernel;
  blockDim = block_size;
  gridDim = grid;
  place_threads(block_size);
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        run_block();
      }
    }
  }
}

void wait_for_block() { park(State::at_block_barrier); }

void exchange(unsigned mask, std::uint64_t value) {
  current().mask = mask;
  current().given = value;
  park(State::at_exchange);
}

std::uint64_t lane_value(unsigned lane) { return current().taken[lane]; }

unsigned lane() { return static_cast<unsigned>(runner->fibre->thread % kWarp); }

}  // namespace rueda::standin
