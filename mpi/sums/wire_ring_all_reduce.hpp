#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ring_all_reduce.hpp"

namespace rueda {

/// The ring with bf16 on the wire: half the bytes. A partial sum is rounded
/// when it is sent, widened and added in fp32 when it has come; the owner of a
/// complete chunk rounds its own copy too, so that all ranks hold the same
/// bits.
///
/// So in each sum each rank rounds each element exactly once. With feedback it
/// keeps what that took, and adds it before it rounds the same element of the
/// arena the next time: over many sums nothing is lost.
class WireRingAllReduce final : public RingAllReduce {
 public:
  /// As RingAllReduce.
  WireRingAllReduce(std::unique_ptr<Exchange> ring, ReduceDevice& device, std::size_t segment,
                    bool feedback)
      : RingAllReduce(std::move(ring), device, segment), feedback_(feedback) {}

  std::string_view name() const override { return "ring, bf16 wire"; }
  std::size_t scratch_floats(std::size_t length) const override;
  std::size_t kept_floats(std::size_t length) const override {
    return feedback_ && ranks_->size() > 1 ? length : 0;
  }
  std::vector<std::span<float>> carried() override;

 private:
  /// What rounding took from the elements of a part of the arena.
  struct Lost {
    std::span<const float> of;
    std::span<float> values;
  };

  /// `exactly`: by the ring in fp32.
  void add_up(std::span<float> slice, bool exactly) override;
  /// Memory for the slice: the part of a longer slice that was summed before, or new.
  std::span<float> lost_by(std::span<const float> slice);
  void reduce_scatter(const RingPlan& plan, std::span<float> slice, std::span<float> lost,
                      std::span<float> scratch);
  void all_gather(const RingPlan& plan, std::span<float> slice, std::span<float> lost,
                  std::span<float> scratch);

  bool feedback_;
  std::vector<Lost> lost_;
};

}  // namespace rueda
