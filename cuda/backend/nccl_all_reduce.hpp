#pragma once

#include <memory>

#include "cuda/backend/cuda_reduce_device.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/reduce/rank_group.hpp"

namespace rueda::cuda {

/// ncclAllReduce in place on a GPU's memory, over the communication stream:
/// NVIDIA's own, to be compared. The order of addition is NCCL's choice. Each
/// rank has a GPU of its own: NCCL refuses two ranks on one.
///
/// Collective: rank 0 makes an identifier and hands it to the others, then all
/// connect. Keeps `device`, which outlives it. Throws RunError.
std::unique_ptr<AllReduce> make_nccl_all_reduce(RankGroup& ranks, CudaReduceDevice& device);

}  // namespace rueda::cuda
