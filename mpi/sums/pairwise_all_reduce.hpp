#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "mpi/sums/message_all_reduce.hpp"
#include "reduce/doubling_plan.hpp"
#include "reduce/halving_plan.hpp"
#include "reduce/pair_plan.hpp"

namespace rueda {

/// A sum in which ranks meet in pairs, as a plan of each rank says: recursive
/// doubling, or recursive halving and doubling.
class PairwiseAllReduce final : public MessageAllReduce {
 public:
  using MakePlan = PairPlan(int rank, int ranks);

  /// `name`: a literal. Keeps `device`, which outlives it.
  PairwiseAllReduce(const char* name, MakePlan* plan, std::unique_ptr<Exchange> ranks,
                    ReduceDevice& device);

  std::string_view name() const override { return name_; }
  std::string details() const override;
  /// Of the longest message that is added.
  std::size_t scratch_floats(std::size_t length) const override;

 private:
  void add_up(const SumPlace& place, std::span<float> slice, bool exactly) override;

  const char* name_;
  PairPlan plan_;  ///< of this rank, in each sum
};

/// Recursive doubling for any number of ranks: about log2 P messages of the
/// whole slice each way, where the ring has 2(P-1) of a P-th. Every element is
/// added in the order of TreeOrder, hence with the bits of the fixed order,
/// however the arena is cut into slices.
std::unique_ptr<AllReduce> make_doubling(std::unique_ptr<Exchange> ranks, ReduceDevice& device);

/// Recursive halving and doubling: about 2 log2 P messages, which together are
/// as long as the ring's. Adds in the order of TreeOrder where
/// halving_keeps_tree_order says so; however the arena is cut into slices, the
/// bits are the same.
std::unique_ptr<AllReduce> make_halving(std::unique_ptr<Exchange> ranks, ReduceDevice& device);

}  // namespace rueda
