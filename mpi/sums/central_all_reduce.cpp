#include "central_all_reduce.hpp"

#include "rueda/reduce/tree_order.hpp"

namespace rueda {

std::size_t CentralAllReduce::scratch_floats(std::size_t length) const {
  if (ranks_->size() == 1 || ranks_->rank() != 0) return 0;
  return (TreeOrder::slots_needed(static_cast<std::size_t>(ranks_->size())) - 1) * length;
}

Event CentralAllReduce::sum(std::span<float> slice, Event ready) {
  if (ranks_->size() == 1 || slice.empty()) return ready;
  device_.wait(ready);
  if (ranks_->rank() == 0) {
    collect(slice);
    distribute(slice);
  } else {
    message("to rank 0", 0, slice, {}, 0);
    message("from rank 0", 0, {}, slice, 0);
  }
  return {};
}

/// Slot 0 of the tree is the slice itself, in which the sum ends up; the others are scratch.
void CentralAllReduce::collect(std::span<float> slice) {
  const std::size_t length = slice.size();
  const auto scratch = device_.scratch(scratch_floats(length));
  const auto slot = [&](std::size_t i) {
    return i == 0 ? slice : scratch.subspan((i - 1) * length, length);
  };
  TreeOrder order;
  for (int rank = 0; rank < ranks_->size(); ++rank) {
    if (rank > 0) message("to rank 0", rank - 1, {}, slot(order.next_slot()), rank);
    const auto merge = [&](std::size_t into, std::size_t from) {
      device_.add(slot(into), slot(from));
    };
    journal().add("to rank 0", rank, [&] {
      order.push(merge);
      if (rank + 1 == ranks_->size()) order.finish(merge);
      device_.wait(device_.record_own());  // before scratch is received into again
    });
  }
}

void CentralAllReduce::distribute(std::span<float> slice) {
  for (int rank = 1; rank < ranks_->size(); ++rank)
    message("from rank 0", rank - 1, slice, {}, rank);
}

void CentralAllReduce::message(const char* phase, int step, std::span<const float> send,
                               std::span<float> receive, int peer) {
  const int other = ranks_->world_rank(peer);
  journal().transfer(phase, step, send.empty() ? -1 : other, receive.empty() ? -1 : other,
                     [&] { ranks_->sendrecv(send, peer, receive, peer); });
}

}  // namespace rueda
