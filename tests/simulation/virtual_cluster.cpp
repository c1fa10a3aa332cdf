#include "tests/simulation/virtual_cluster.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include <sys/mman.h>

#include "base/error.hpp"

namespace rueda::test {
namespace {

/// Of which a sum touches a few pages.
constexpr std::size_t kStackBytes = std::size_t{256} * 1024;

}  // namespace

VirtualCluster::VirtualCluster(int ranks) : ranks_(std::size_t(ranks)) {}

void VirtualCluster::run(const std::function<void(int rank)>& body) {
  body_ = &body;
  failure_ = nullptr;
  for (int rank = 0; rank < size(); ++rank) start(rank);
  while (!turns_.empty() && !failure_) {
    current_ = turns_.top().second;
    turns_.pop();
    swapcontext(&home_, &ranks_[std::size_t(current_)].context);
  }
  turns_ = {};
  if (failure_) std::rethrow_exception(failure_);
  const auto left = std::ranges::count(ranks_, false, &Rank::ended);
  if (left > 0) throw RunError(std::to_string(left) + " ranks wait for each other");
}

void VirtualCluster::start(int rank) {
  Rank& mine = ranks_[std::size_t(rank)];
  if (!mine.stack) {
    void* memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw RunError("no memory for the stack of another rank");
    mine.stack = {memory, [](void* stack) { munmap(stack, kStackBytes); }};
  }
  mine.time = 0;
  mine.ended = false;
  turns_.emplace(0.0, rank);
  getcontext(&mine.context);
  mine.context.uc_stack.ss_sp = mine.stack.get();
  mine.context.uc_stack.ss_size = kStackBytes;
  mine.context.uc_link = nullptr;
  make_enter(mine.context);
}

void VirtualCluster::make_enter(ucontext_t& context) {
  // makecontext hands on integers of 32 bits.
  const auto self = std::uint64_t(std::uintptr_t(this));
  makecontext(&context, reinterpret_cast<void (*)()>(&VirtualCluster::enter), 2,
              unsigned(self >> 32U), unsigned(self));
}

void VirtualCluster::enter(unsigned high, unsigned low) {
  const auto self = std::uint64_t{high} << 32U | low;
  reinterpret_cast<VirtualCluster*>(std::uintptr_t(self))->live();
}

void VirtualCluster::live() {
  try {
    (*body_)(current_);
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
  }
  ranks_[std::size_t(current_)].ended = true;
  leave();
}

void VirtualCluster::leave() { swapcontext(&ranks_[std::size_t(current_)].context, &home_); }

void VirtualCluster::wait_until(double time) {
  double& mine = ranks_[std::size_t(current_)].time;
  mine = std::max(mine, time);
  if (turns_.empty() || Turn{mine, current_} < turns_.top()) return;
  turns_.emplace(mine, current_);
  leave();
}

void VirtualCluster::park() { leave(); }

void VirtualCluster::wake(int rank, double time) {
  double& theirs = ranks_[std::size_t(rank)].time;
  theirs = std::max(theirs, time);
  turns_.emplace(theirs, rank);
}

}  // namespace rueda::test
