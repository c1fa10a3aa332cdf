#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "mpi/sums/ring_all_reduce.hpp"

namespace rueda {

/// The ring with bf16 on the wire: half the bytes. A partial sum is rounded
/// when it is sent, widened and added in fp32 when it has come; the owner of a
/// complete chunk rounds its own copy too, so that all ranks hold the same
/// bits. So in each sum each rank rounds each element exactly once.
class WireRingAllReduce final : public RingAllReduce {
 public:
  using RingAllReduce::RingAllReduce;

  std::string_view name() const override { return "ring, bf16 wire"; }
  std::size_t scratch_floats(std::size_t length) const override;

 private:
  /// `exactly`: by the ring in fp32.
  void add_up(const SumPlace& place, std::span<float> slice, bool exactly) override;
};

}  // namespace rueda
