// A fortified longjmp takes the jump to another stack for an error.
#undef _FORTIFY_SOURCE

#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include <ucontext.h>

#include "../runtime/runtime.hpp"
#include "shim.hpp"

namespace rueda::standin {
namespace {

constexpr std::size_t kStackBytes = std::size_t{128} << 10;

enum class State { fresh, running, at_block_barrier, at_exchange, ended };

struct Thread {
  uint3 index{};
  State state = State::fresh;
  std::uint64_t given = 0;
};

/// What the threads of a warp had given when some of them went on. One for the warp is enough: it
/// is taken anew only when all of these have given way again.
using Taken = std::array<std::uint64_t, kWarp>;

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
  std::vector<Taken> taken;  // of each warp
  std::size_t next = 0;      // the first thread that has not begun
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

Fibre& fibre_at(std::size_t i) {
  if (i == runner->fibres.size()) {
    runner->fibres.push_back(std::make_unique<Fibre>());
    prepare(*runner->fibres.back());
  }
  return *runner->fibres[i];
}

void park(State state) {
  current().state = state;
  runner->fibre->parked = true;
  leave_fibre();
  current().state = State::running;
  threadIdx = current().index;
}

/// Whether all threads of the warp have come to the exchange or ended.
bool may_leave_exchange(std::size_t warp) {
  const std::size_t first = warp * kWarp;
  for (unsigned i = 0; i < kWarp && first + i < runner->threads.size(); ++i) {
    const State state = runner->threads[first + i].state;
    if (state != State::ended && state != State::at_exchange) return false;
  }
  return true;
}

void take_from_warp(std::size_t warp) {
  const std::size_t first = warp * kWarp;
  for (unsigned i = 0; i < kWarp && first + i < runner->threads.size(); ++i)
    runner->taken[warp][i] = runner->threads[first + i].given;
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
  std::size_t asked =
      runner->taken.size();  // the warp of the answer, which holds for all its threads
  bool may_leave = false;
  for (Fibre* fibre : parked) {
    if (runner->threads[fibre->thread].state != State::at_exchange) continue;
    all_at_barrier = false;
    const std::size_t warp = fibre->thread / kWarp;
    if (warp != std::exchange(asked, warp)) {
      may_leave = may_leave_exchange(warp);
      if (may_leave) take_from_warp(warp);
    }
    if (may_leave) ready.push_back(fibre);
  }
  return all_at_barrier ? parked : ready;
}

void drop_ended(std::vector<Fibre*>& parked) {
  std::erase_if(parked, [](const Fibre* fibre) { return !fibre->parked; });
}

void resume_until_all_ended() {
  for (auto parked = parked_fibres(); !parked.empty(); drop_ended(parked)) {
    const auto ready = ready_of(parked);
    if (ready.empty()) {
      std::fputs("stand-in: threads of a block wait for each other in different places\n", stderr);
      std::abort();
    }
    for (Fibre* fibre : ready) enter(*fibre);
  }
}

void run_block() {
  for (Thread& thread : runner->threads) thread.state = State::fresh;
  runner->next = 0;
  // A fibre that is left before all threads have begun is parked in one of them.
  for (std::size_t i = 0; runner->next < runner->threads.size(); ++i) enter(fibre_at(i));
  resume_until_all_ended();
}

void place_threads(dim3 size) {
  runner->threads.clear();
  for (unsigned y = 0; y < size.y; ++y) {
    for (unsigned x = 0; x < size.x; ++x) runner->threads.push_back({.index = {x, y, 0}});
  }
  runner->taken.resize((runner->threads.size() + kWarp - 1) / kWarp);
}

/// Of what a device could do, what the kernels use: two dimensions.
bool fits(dim3 grid, dim3 block) {
  const auto threads = std::uint64_t{block.x} * block.y;
  return threads >= 1 && threads <= 1024 && block.z == 1 && grid.x >= 1 && grid.y >= 1 &&
         grid.z == 1 && grid.x <= 0x7fffffffU && grid.y <= 0xffffU;
}

/// Calls `kernel` once for every thread of every block.
void run_grid(dim3 grid, dim3 block_size, const std::function<void()>& kernel) {
  static thread_local Runner own;
  runner = &own;
  own.kernel = &kernel;
  blockDim = block_size;
  gridDim = grid;
  place_threads(block_size);
  for (unsigned y = 0; y < grid.y; ++y) {
    for (unsigned x = 0; x < grid.x; ++x) {
      blockIdx = {x, y, 0};
      run_block();
    }
  }
}

}  // namespace

cudaError_t launch_kernel(const cudaLaunchConfig_t& config, const std::type_info& type,
                          std::function<void()> kernel) {
  const dim3 grid = config.gridDim;
  const dim3 block = config.blockDim;
  if (!fits(grid, block)) return note(cudaErrorInvalidConfiguration);
  note_launch({.name = type.name(), .grid = {grid.x, grid.y}, .block = {block.x, block.y}});
  if (!kernels_run()) return cudaSuccess;
  return note(
      submit(config.stream, [=, kernel = std::move(kernel)] { run_grid(grid, block, kernel); }));
}

void wait_for_block() { park(State::at_block_barrier); }

void exchange(std::uint64_t value) {
  current().given = value;
  park(State::at_exchange);
}

std::uint64_t lane_value(unsigned lane) {
  return runner->taken[runner->fibre->thread / kWarp][lane];
}

unsigned lane() { return unsigned(runner->fibre->thread % kWarp); }

}  // namespace rueda::standin
