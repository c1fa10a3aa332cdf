#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "mpi/sums/message_all_reduce.hpp"
#include "reduce/doubling_plan.hpp"

namespace rueda {

/// Recursive doubling for any number of ranks: about log2 P messages of the
/// whole slice each way, where the ring has 2(P-1) of a P-th. Every element is
/// added in the order of TreeOrder, hence with the bits of the fixed order,
/// however the arena is cut into slices.
class DoublingAllReduce final : public MessageAllReduce {
 public:
  /// Keeps `device`, which outlives it.
  DoublingAllReduce(std::unique_ptr<Exchange> ranks, ReduceDevice& device);

  std::string_view name() const override { return "doubling"; }
  std::size_t scratch_floats(std::size_t length) const override {
    return ranks_->size() > 1 ? length : 0;
  }

 private:
  void add_up(const SumPlace& place, std::span<float> slice, bool exactly) override;

  std::vector<DoublingStep> steps_;  ///< of this rank, in each sum
};

}  // namespace rueda
