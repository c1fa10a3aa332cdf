#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "mpi/sums/message_all_reduce.hpp"

namespace rueda {

/// Recursive doubling for any number of ranks: about log2 P messages of the
/// whole slice each way, where the ring has 2(P-1) of a P-th. Every element is
/// added in the order of TreeOrder, hence with the bits of the fixed order,
/// however the arena is cut into slices.
class DoublingAllReduce final : public MessageAllReduce {
 public:
  using MessageAllReduce::MessageAllReduce;

  std::string_view name() const override { return "doubling"; }
  std::size_t scratch_floats(std::size_t length) const override {
    return ranks_->size() > 1 ? length : 0;
  }

 private:
  /// Ranks first ... first+count-1, which are summed among themselves.
  struct Block {
    int first = 0;
    int count = 1;
  };
  void add_up(std::span<float> slice, bool exactly) override;
  /// Leaves the sum over `block` on each of its ranks; this one is among them.
  void sum_block(Block block, std::span<float> slice, std::span<float> incoming);
  /// Afterwards this rank and `peer` have the sum of their slices.
  void sum_with(int peer, std::span<float> slice, std::span<float> incoming);
  /// The first `have` ranks of `block` hold its sum; afterwards all `count` do.
  void spread(Block block, int have, std::span<float> slice);

  int step_ = 0;  ///< of the sum in hand
};

}  // namespace rueda
