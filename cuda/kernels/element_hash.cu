#include "kernels.hpp"
#include "launch.cuh"
#include "rueda/kernels/element_hash.hpp"
#include "rueda/kernels/message_check.hpp"

namespace rueda::cuda {
namespace {

using Sum = unsigned long long;  // the 64-bit type that atomicAdd takes
static_assert(sizeof(Sum) == sizeof(std::uint64_t));

struct Hash {
  __device__ static Sum of(std::size_t i, float value) { return kernels::element_hash(i, value); }
};

struct Check {
  __device__ static Sum of(std::size_t i, float value) { return kernels::message_check(i, value); }
};

/// Each thread sums the shares of its own elements, each warp its threads, and one atomic addition
/// per warp sums the warps.
template <typename Share>
__global__ void sum_shares(const float* values, std::size_t count, Sum* sum) {
  Sum mine = 0;
  for (std::size_t i = first_index(); i < count; i += index_stride()) {
    mine += Share::of(i, values[i]);
  }
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    mine += __shfl_down_sync(0xffffffffU, mine, distance);
  }
  if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
}

template <typename Share>
cudaError_t queue_sum(const float* values, std::size_t count, std::uint64_t* sum,
                      cudaStream_t stream) {
  const cudaError_t zeroed = cudaMemsetAsync(sum, 0, sizeof *sum, stream);
  if (zeroed != cudaSuccess) return zeroed;
  return launch(&sum_shares<Share>, count, stream, values, count, reinterpret_cast<Sum*>(sum));
}

}  // namespace

cudaError_t element_hash(const float* values, std::size_t count, std::uint64_t* sum,
                         cudaStream_t stream) {
  return queue_sum<Hash>(values, count, sum, stream);
}

cudaError_t message_check(const float* values, std::size_t count, std::uint64_t* sum,
                          cudaStream_t stream) {
  return queue_sum<Check>(values, count, sum, stream);
}

}  // namespace rueda::cuda
