#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "mpi/sums/message_all_reduce.hpp"

namespace rueda {

/// Everything to rank 0, which adds, and back: the obvious way, there to be compared. Rank 0 moves
/// 2(P-1) whole slices, one after another. It takes the contributions in the order of the ranks and
/// adds them along TreeOrder, hence with the bits of the fixed order.
class CentralAllReduce final : public MessageAllReduce {
 public:
  using MessageAllReduce::MessageAllReduce;

  std::string_view name() const override { return "central"; }
  /// On rank 0 as many slices as the tree has partial sums besides the first; elsewhere none.
  std::size_t scratch_floats(std::size_t length) const override;

 private:
  void add_up(const SumPlace& place, std::span<float> slice, bool exactly) override;
  void collect(const SumPlace& place, std::span<float> slice);
};

}  // namespace rueda
