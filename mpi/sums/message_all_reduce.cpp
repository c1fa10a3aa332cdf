#include "message_all_reduce.hpp"

namespace rueda {

void transfer(Exchange& ranks, ReduceJournal& journal, const char* phase, int step,
              std::span<const float> send, int to, std::span<float> receive, int from) {
  journal.transfer(phase, step, send.empty() ? -1 : ranks.world_rank(to),
                   receive.empty() ? -1 : ranks.world_rank(from),
                   [&] { ranks.sendrecv(send, to, receive, from); });
}

void MessageAllReduce::add(const char* phase, int step, std::span<float> into,
                           std::span<const float> from) {
  journal().add(phase, step, [&] {
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
