#include "mpi/sums/message_all_reduce.hpp"

namespace rueda {

void SumPlace::exchange(SumStep step, const Outgoing& send, const Incoming& receive) const {
  const int to = send.floats.empty() ? -1 : ranks.world_rank(send.to);
  const int from = receive.floats.empty() ? -1 : ranks.world_rank(receive.from);
  const auto entry = journal.transfer(step.phase, step.number, to, from);
  ranks.sendrecv(send, receive, journal);
}

void SumPlace::add(SumStep step, std::span<float> into, std::span<const float> from) const {
  const auto entry = journal.add(step.phase, step.number);
  device.add(into, from);
  device.wait(device.record_own());
}

Event MessageAllReduce::sum_now(std::span<float> slice, Event ready, ReduceJournal& journal,
                                bool exactly) {
  if (ranks_->size() == 1 || slice.empty()) return ready;
  device_.wait(ready);
  add_up({*ranks_, device_, journal}, slice, exactly);
  return {};  // everything has been awaited, nothing is left in the device's queue
}

}  // namespace rueda
