#pragma once

#include "message_all_reduce.hpp"

// The all-reduces that send whole slices: recursive doubling, rank 0 as the centre, and MPI's own.

namespace rueda {

/// Recursive doubling for any number of ranks: about log2 P messages of the whole slice each way
/// (doubling_messages), where the ring has 2(P-1) of a P-th. Every element is added in the order of
/// TreeOrder, hence with the bits of the fixed order, however the arena is cut into slices.
class DoublingAllReduce final : public MessageAllReduce {
 public:
  using MessageAllReduce::MessageAllReduce;

  std::string_view name() const override { return "doubling"; }
  Event sum(std::span<float> slice, Event ready) override;
  std::size_t scratch_floats(std::size_t length) const override;

 private:
  /// Ranks first ... first+count-1, which are summed among themselves.
  struct Block {
    int first = 0;
    int count = 1;
  };
  /// Leaves the sum over `block` on each of its ranks; this one is among them.
  void sum_block(Block block, std::span<float> slice, std::span<float> incoming);
  /// Afterwards this rank and `peer` have the sum of their slices.
  void sum_with(int peer, std::span<float> slice, std::span<float> incoming);
  /// The first `have` ranks of `block` hold its sum; afterwards all `count` do.
  void spread(Block block, int have, std::span<float> slice);

  int step_ = 0;  ///< of the sum in hand
};

/// Messages in a row of the rank that has most of them.
int doubling_messages(int ranks) noexcept;

/// Everything to rank 0, which adds, and back: the obvious way, there to be compared. Rank 0 moves
/// 2(P-1) whole slices, one after another. It takes the contributions in the order of the ranks and
/// adds them along TreeOrder, hence with the bits of the fixed order.
class CentralAllReduce final : public MessageAllReduce {
 public:
  using MessageAllReduce::MessageAllReduce;

  std::string_view name() const override { return "central"; }
  Event sum(std::span<float> slice, Event ready) override;
  /// On rank 0 as many slices as the tree has partial sums besides the first; elsewhere none.
  std::size_t scratch_floats(std::size_t length) const override;

 private:
  void collect(std::span<float> slice);
  void distribute(std::span<float> slice);
};

/// MPI_Allreduce in place on the same slice: the yardstick. The order of addition is MPI's choice.
class MpiAllReduce final : public MessageAllReduce {
 public:
  using MessageAllReduce::MessageAllReduce;

  std::string_view name() const override { return "mpi"; }
  /// All time counts as transfer, MPI's additions included.
  Event sum(std::span<float> slice, Event ready) override;
  /// None of ours; MPI's own temporary memory is not known.
  std::size_t scratch_floats(std::size_t) const override { return 0; }
};

}  // namespace rueda
