#include "mpi/sums/central_all_reduce.hpp"

#include <vector>

#include "reduce/tree_order.hpp"

namespace rueda {

std::size_t CentralAllReduce::scratch_floats(std::size_t length) const {
  if (ranks_->size() == 1 || ranks_->rank() != 0) return 0;
  return (TreeOrder::slots_needed(std::size_t(ranks_->size())) - 1) * length;
}

void CentralAllReduce::add_up(const SumPlace& place, std::span<float> slice, bool) {
  if (ranks_->rank() == 0) {
    collect(place, slice);
    for (int rank = 1; rank < ranks_->size(); ++rank)
      place.exchange({"from rank 0", rank - 1}, {slice, rank}, {});
  } else {
    place.exchange({"to rank 0", 0}, {slice, 0}, {});
    place.exchange({"from rank 0", 0}, {}, {slice, 0});
  }
}

/// Slot 0 of the tree is the slice itself, in which the sum ends up; the others are scratch.
void CentralAllReduce::collect(const SumPlace& place, std::span<float> slice) {
  const std::size_t length = slice.size();
  const auto scratch = device_.scratch(scratch_floats(length));
  std::vector<std::span<float>> slots = {slice};
  for (std::size_t begin = 0; begin < scratch_floats(length); begin += length)
    slots.push_back(scratch.subspan(begin, length));
  const auto merge = [&](std::size_t into, std::size_t from) {
    device_.add(slots[into], slots[from]);
  };
  TreeOrder order;
  for (int rank = 0; rank < ranks_->size(); ++rank) {
    if (rank > 0) place.exchange({"to rank 0", rank - 1}, {}, {slots[order.next_slot()], rank});
    const auto entry = place.journal.add("to rank 0", rank);
    order.push(merge);
    if (rank + 1 == ranks_->size()) order.finish(merge);
    device_.wait(device_.record_own());  // before scratch is received into again
  }
}

}  // namespace rueda
