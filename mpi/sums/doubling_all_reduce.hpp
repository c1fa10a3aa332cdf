#pragma once

#include <memory>
#include <utility>

#include "mpi/exchange/exchange.hpp"
#include "rueda/reduce/all_reduce.hpp"

namespace rueda {

/// Recursive doubling for any number of ranks: about log2 P messages of the whole slice each way
/// (doubling_messages), where the ring has 2(P-1) of a P-th. Every element is added in the order of
/// TreeOrder, hence with the bits of the fixed order, however the arena is cut into slices.
class DoublingAllReduce final : public AllReduce {
 public:
  /// MPI is handed the device's own pointers. Keeps both references; they outlive it.
  DoublingAllReduce(Communicator& ranks, ReduceDevice& device)
      : DoublingAllReduce(std::make_unique<DirectExchange>(ranks), device) {}
  DoublingAllReduce(std::unique_ptr<Exchange> ranks, ReduceDevice& device)
      : ranks_(std::move(ranks)), device_(device) {}

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
  void exchange(int peer, std::span<float> slice, std::span<float> incoming);
  /// The first `have` ranks of `block` hold its sum; afterwards all `count` do.
  void spread(Block block, int have, std::span<float> slice);

  std::unique_ptr<Exchange> ranks_;
  ReduceDevice& device_;
  int step_ = 0;  ///< of the sum in hand
};

/// Messages in a row of the rank that has most of them.
int doubling_messages(int ranks) noexcept;

}  // namespace rueda
