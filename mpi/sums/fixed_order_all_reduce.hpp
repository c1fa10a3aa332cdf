#pragma once

#include <memory>
#include <utility>

#include "mpi/exchange/exchange.hpp"
#include "rueda/reduce/all_reduce.hpp"

namespace rueda {

/// An all-reduce that adds the ranks' contributions in the order of TreeOrder, which does not
/// depend on the element's place in the slice. Hence the bits do not depend on how the arena is cut
/// into slices, and equal those of one rank that adds as many micro-batches in the same order.
/// It moves the same bytes as the ring, but needs P-1 chunks in hand at once where the ring needs
/// one, and its first half talks to every rank instead of to neighbours.
class FixedOrderAllReduce final : public AllReduce {
 public:
  static constexpr std::size_t kScratchElements = std::size_t{1} << 20;

  /// MPI is handed the device's own pointers. Keeps both references; they outlive it. Chunks are
  /// worked through in blocks so that scratch memory stays near `scratch_elements` floats; this
  /// changes no bit.
  FixedOrderAllReduce(Communicator& ranks, ReduceDevice& device,
                      std::size_t scratch_elements = kScratchElements)
      : FixedOrderAllReduce(std::make_unique<DirectExchange>(ranks), device, scratch_elements) {}
  FixedOrderAllReduce(std::unique_ptr<Exchange> ranks, ReduceDevice& device,
                      std::size_t scratch_elements = kScratchElements)
      : ranks_(std::move(ranks)), device_(device), scratch_elements_(scratch_elements) {}

  std::string_view name() const override { return "fixed order"; }
  Event sum(std::span<float> slice, Event ready) override;
  std::size_t scratch_floats(std::size_t length) const override;

 private:
  std::unique_ptr<Exchange> ranks_;
  ReduceDevice& device_;
  std::size_t scratch_elements_;
};

}  // namespace rueda
