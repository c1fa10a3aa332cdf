#include "mpi/sums/pairwise_all_reduce.hpp"

#include <algorithm>
#include <utility>

// reduce/doubling_plan.hpp and reduce/halving_plan.hpp say, in words and as arithmetic, which ranks
// meet in which order. Here is what two ranks do when they meet.

namespace rueda {

PairwiseAllReduce::PairwiseAllReduce(const char* name, MakePlan* plan,
                                     std::unique_ptr<Exchange> ranks, ReduceDevice& device)
    : MessageAllReduce(std::move(ranks), device),
      name_(name),
      plan_(plan(ranks_->rank(), ranks_->size())) {}

std::string PairwiseAllReduce::details() const {
  if (plan_.chunks == 1) return "";
  return std::to_string(plan_.chunks) + " chunks a bucket";
}

std::size_t PairwiseAllReduce::scratch_floats(std::size_t length) const {
  std::size_t most = 0;
  for (const PairStep& step : plan_.steps)
    if (step.adds) most = std::max(most, plan_.floats(length, step.received).size());
  return most;
}

void PairwiseAllReduce::add_up(const SumPlace& place, std::span<float> slice, bool) {
  const auto scratch = device_.scratch(scratch_floats(slice.size()));
  int number = 0;
  for (const PairStep& planned : plan_.steps) {
    const SumStep step{planned.phase, number++};
    const auto outgoing = cut(slice, plan_.floats(slice.size(), planned.sent));
    const auto target = cut(slice, plan_.floats(slice.size(), planned.received));
    if (outgoing.empty() && target.empty()) continue;
    const auto incoming = planned.adds ? scratch.first(target.size()) : target;
    place.exchange(step, {outgoing, planned.peer}, {incoming, planned.peer});
    if (planned.adds && !target.empty()) place.add(step, target, incoming);
  }
}

std::unique_ptr<AllReduce> make_doubling(std::unique_ptr<Exchange> ranks, ReduceDevice& device) {
  return std::make_unique<PairwiseAllReduce>("doubling", doubling_plan, std::move(ranks), device);
}

std::unique_ptr<AllReduce> make_halving(std::unique_ptr<Exchange> ranks, ReduceDevice& device) {
  return std::make_unique<PairwiseAllReduce>("halving", halving_plan, std::move(ranks), device);
}

}  // namespace rueda
