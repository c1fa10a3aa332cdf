#include "mpi/sums/doubling_all_reduce.hpp"

#include <utility>

// rueda/reduce/doubling_plan.hpp says, in words and as arithmetic, which ranks meet in which order.
// Here is what they do when they meet: swap their sums and add, or copy one.

namespace rueda {

DoublingAllReduce::DoublingAllReduce(std::unique_ptr<Exchange> ranks, ReduceDevice& device)
    : MessageAllReduce(std::move(ranks), device),
      steps_(doubling_steps(ranks_->rank(), ranks_->size())) {}

void DoublingAllReduce::add_up(const SumPlace& place, std::span<float> slice, bool) {
  const auto incoming = device_.scratch(slice.size()).first(slice.size());
  int number = 0;
  for (const auto& [act, peer] : steps_) {
    const SumStep step{phase_of(act), number++};
    switch (act) {
      case DoublingStep::Act::swap_and_add:
        place.exchange(step, {slice, peer}, {incoming, peer});
        place.add(step, slice, incoming);
        break;
      case DoublingStep::Act::send:
        place.exchange(step, {slice, peer}, {});
        break;
      case DoublingStep::Act::receive:
        place.exchange(step, {}, {slice, peer});
        break;
    }
  }
}

}  // namespace rueda
