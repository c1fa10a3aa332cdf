#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "ring_all_reduce.hpp"

namespace rueda {

/// The ring with bf16 on the wire: half the bytes. A partial sum is rounded when it is sent,
/// widened and added in fp32 when it has come; the owner of a complete chunk rounds its own copy
/// too, so that all ranks hold the same bits.
///
/// So in each sum each rank rounds each element exactly once. With feedback it keeps what that
/// took, and adds it before it rounds the same element of the arena the next time: over many sums
/// nothing is lost.
class WireRingAllReduce final : public MessageAllReduce {
 public:
  /// Keeps `device`, which outlives it. `segment` as in RingAllReduce.
  WireRingAllReduce(std::unique_ptr<Exchange> ring, ReduceDevice& device, std::size_t segment,
                    bool feedback)
      : MessageAllReduce(std::move(ring), device), segment_(segment), feedback_(feedback) {}

  std::string_view name() const override { return "ring, bf16 wire"; }
  std::string details() const override { return ring_cut_text(ranks_->size(), segment_); }
  Event sum(std::span<float> slice, Event ready) override;
  /// By the ring in fp32.
  Event sum_exactly(std::span<float> slice, Event ready) override;
  std::size_t scratch_floats(std::size_t length) const override;
  std::size_t kept_floats(std::size_t length) const override;
  std::vector<std::span<float>> carried() override;

 private:
  /// What rounding took from the elements of a part of the arena.
  struct Lost {
    std::span<const float> of;
    std::span<float> values;
  };

  /// Memory for the slice: the part of a longer slice that was summed before, or new.
  std::span<float> lost_by(std::span<const float> slice);
  void reduce_scatter(const RingPlan& plan, std::span<float> slice, std::span<float> lost,
                      std::span<float> scratch);
  void all_gather(const RingPlan& plan, std::span<float> slice, std::span<float> lost,
                  std::span<float> scratch);

  std::size_t segment_;
  bool feedback_;
  std::vector<Lost> lost_;
};

}  // namespace rueda
