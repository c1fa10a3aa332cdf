#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "mpi/sums/message_all_reduce.hpp"

namespace rueda {

/// Near which the fixed order keeps its scratch memory.
inline constexpr std::size_t kFixedScratch = std::size_t{1} << 20;

/// First half of the all-reduce in the fixed order: afterwards this rank's
/// slice holds, in the chunk that the ring's plan has it own, the sum over ranks
/// in the order of TreeOrder, and elsewhere its own values. The caller has waited for the slice
/// to be ready. Chunks are worked through in blocks so that scratch memory
/// stays near `scratch_elements` floats; this changes no bit.
void fixed_reduce_scatter(const SumPlace& place, std::span<float> slice,
                          std::size_t scratch_elements);

/// Floats of scratch memory that this takes for a slice of `length` over `ranks` ranks.
std::size_t fixed_scratch_floats(std::size_t length, int ranks, std::size_t scratch_elements);

/// An all-reduce that adds the ranks' contributions in the order of TreeOrder,
/// which does not depend on the element's position in the slice. Hence the bits
/// do not depend on how the arena is cut into slices, and equal those of one
/// rank that adds as many micro-batches in the same order. It moves the same
/// bytes as the ring, but needs P-1 chunks in hand at once where the ring needs
/// one, and its first half talks to every rank instead of to neighbours.
class FixedOrderAllReduce final : public MessageAllReduce {
 public:
  /// `scratch_elements` as in fixed_reduce_scatter.
  FixedOrderAllReduce(std::unique_ptr<Exchange> ranks, ReduceDevice& device,
                      std::size_t scratch_elements = kFixedScratch)
      : MessageAllReduce(std::move(ranks), device), scratch_elements_(scratch_elements) {}

  std::string_view name() const override { return "fixed order"; }
  std::string details() const override {
    return std::to_string(ranks_->size()) + " chunks a bucket";
  }
  std::size_t scratch_floats(std::size_t length) const override {
    return fixed_scratch_floats(length, ranks_->size(), scratch_elements_);
  }

 private:
  void add_up(const SumPlace& place, std::span<float> slice, bool exactly) override;
  std::size_t scratch_elements_;
};

}  // namespace rueda
