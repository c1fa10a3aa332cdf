#include "mpi/sums/message_all_reduce.hpp"

namespace rueda {

void MessageAllReduce::add(SumStep step, std::span<float> into, std::span<const float> from) {
  journal().add(step.phase, step.number, [&] {
    device_.add(into, from);
    device_.wait(device_.record_own());
  });
}

Event MessageAllReduce::sum_now(std::span<float> slice, Event ready, bool exactly) {
  if (ranks_->size() == 1 || slice.empty()) return ready;
  device_.wait(ready);
  add_up(slice, exactly);
  return {};  // everything has been awaited, nothing is left in the device's queue
}

}  // namespace rueda
