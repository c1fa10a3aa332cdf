#pragma once

#include <nccl.h>

#include "cuda_reduce_device.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/reduce/rank_group.hpp"

namespace rueda::cuda {

/// ncclAllReduce in place on a GPU's memory, over the communication stream: NVIDIA's own, to be
/// compared. The order of addition is NCCL's choice. Each rank has a GPU of its own: NCCL refuses
/// two ranks on one.
class NcclAllReduce final : public AllReduce {
 public:
  /// Collective: rank 0 makes an identifier and hands it to the others, then all connect. Keeps
  /// `device`, which outlives it. Throws RunError.
  NcclAllReduce(RankGroup& ranks, CudaReduceDevice& device);
  ~NcclAllReduce() override;
  NcclAllReduce(const NcclAllReduce&) = delete;
  NcclAllReduce& operator=(const NcclAllReduce&) = delete;

  std::string_view name() const override { return "nccl"; }
  /// All time counts as transfer, NCCL's additions included.
  rueda::Event sum(std::span<float> slice, rueda::Event ready) override;
  /// None of ours; NCCL's own buffers are not known.
  std::size_t scratch_floats(std::size_t) const override { return 0; }

 private:
  CudaReduceDevice& device_;
  int size_;
  ncclComm_t comm_ = nullptr;
};

}  // namespace rueda::cuda
