#pragma once

#include <memory>
#include <utility>

#include "mpi/exchange/exchange.hpp"
#include "rueda/reduce/all_reduce.hpp"

namespace rueda {

/// Everything to rank 0, which adds, and back: the obvious way, there to be compared. Rank 0 moves
/// 2(P-1) whole slices, one after another. It takes the contributions in the order of the ranks and
/// adds them along TreeOrder, hence with the bits of the fixed order.
class CentralAllReduce final : public AllReduce {
 public:
  /// MPI is handed the device's own pointers. Keeps both references; they outlive it.
  CentralAllReduce(Communicator& ranks, ReduceDevice& device)
      : CentralAllReduce(std::make_unique<DirectExchange>(ranks), device) {}
  CentralAllReduce(std::unique_ptr<Exchange> ranks, ReduceDevice& device)
      : ranks_(std::move(ranks)), device_(device) {}

  std::string_view name() const override { return "central"; }
  Event sum(std::span<float> slice, Event ready) override;
  /// On rank 0 as many slices as the tree has partial sums beside the first; elsewhere none.
  std::size_t scratch_floats(std::size_t length) const override;

 private:
  void collect(std::span<float> slice);
  void distribute(std::span<float> slice);
  /// One message one way; whoever has nothing to send or to receive gives an empty span.
  void message(const char* phase, int step, std::span<const float> send, std::span<float> receive,
               int peer);

  std::unique_ptr<Exchange> ranks_;
  ReduceDevice& device_;
};

}  // namespace rueda
