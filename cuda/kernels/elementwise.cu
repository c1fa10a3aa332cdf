#include "launch.cuh"
#include "rueda/kernels/batch_norm.hpp"
#include "rueda/kernels/element_hash.hpp"
#include "rueda/kernels/wire.hpp"

// One float per thread, or four where memory traffic is all that counts.
// What goes over a wire of bf16. One float per thread: the wire is slower than any of this.

namespace rueda::cuda {
namespace {

struct Accumulate {
  float* into;
  const float* from;

  __device__ void one(std::size_t i) const { into[i] = into[i] + from[i]; }
  __device__ void four(std::size_t i) const {
    float4 a = reinterpret_cast<float4*>(into)[i];
    const float4 b = reinterpret_cast<const float4*>(from)[i];
    a.x = a.x + b.x;
    a.y = a.y + b.y;
    a.z = a.z + b.z;
    a.w = a.w + b.w;
    reinterpret_cast<float4*>(into)[i] = a;
  }
};

struct SgdUpdate {
  float* values;
  float* velocities;
  const float* gradients;
  kernels::SgdStep step;

  __device__ void one(std::size_t i) const {
    kernels::sgd_update(values[i], velocities[i], gradients[i], step);
  }
  __device__ void four(std::size_t i) const {
    float4 w = reinterpret_cast<float4*>(values)[i];
    float4 v = reinterpret_cast<float4*>(velocities)[i];
    const float4 g = reinterpret_cast<const float4*>(gradients)[i];
    kernels::sgd_update(w.x, v.x, g.x, step);
    kernels::sgd_update(w.y, v.y, g.y, step);
    kernels::sgd_update(w.z, v.z, g.z, step);
    kernels::sgd_update(w.w, v.w, g.w, step);
    reinterpret_cast<float4*>(values)[i] = w;
    reinterpret_cast<float4*>(velocities)[i] = v;
  }
};

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
  for (std::size_t i = first_index(); i < count; i += index_stride())
    mine += Share::of(i, values[i]);
  for (unsigned distance = 16; distance > 0; distance /= 2)
    mine += __shfl_down_sync(0xffffffffU, mine, distance);
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

cudaError_t accumulate(float* into, const float* from, std::size_t count, cudaStream_t stream) {
  return for_each_four(count, aligned_for_packs(into, from), Accumulate{into, from}, stream);
}

cudaError_t sgd_update(float* values, float* velocities, const float* gradients, std::size_t count,
                       const kernels::SgdStep& step, cudaStream_t stream) {
  return for_each_four(count, aligned_for_packs(values, velocities, gradients),
                       SgdUpdate{values, velocities, gradients, step}, stream);
}

cudaError_t weigh_statistics(float* to, const float* from, const float* values_per_image,
                             std::size_t count, float samples, cudaStream_t stream) {
  const auto weigh = [=] __device__(std::size_t i) {
    const float bessel = kernels::bessel(samples * values_per_image[i]);
    to[i] = kernels::weighted_statistic(from[i], samples, bessel);
  };
  return for_each(count, weigh, stream);
}

cudaError_t update_running(float* running, const float* weighted_sums, std::size_t count,
                           float samples, float momentum, cudaStream_t stream) {
  const auto update = [=] __device__(std::size_t i) {
    running[i] = kernels::updated_running(running[i], weighted_sums[i], samples, momentum);
  };
  return for_each(count, update, stream);
}

cudaError_t narrow_wire(kernels::Bfloat16* to, const float* from, float* lost, std::size_t count,
                        cudaStream_t stream) {
  const auto narrow = [=] __device__(std::size_t i) {
    to[i] = lost == nullptr ? kernels::from_float<kernels::Bfloat16>(from[i])
                            : kernels::narrow_with_feedback(from[i], lost[i]);
  };
  return for_each(count, narrow, stream);
}

cudaError_t add_wire(float* into, const kernels::Bfloat16* from, std::size_t count,
                     cudaStream_t stream) {
  const auto add = [=] __device__(std::size_t i) {
    into[i] = into[i] + kernels::to_float(from[i]);
  };
  return for_each(count, add, stream);
}

cudaError_t widen_wire(float* to, const kernels::Bfloat16* from, std::size_t count,
                       cudaStream_t stream) {
  const auto widen = [=] __device__(std::size_t i) { to[i] = kernels::to_float(from[i]); };
  return for_each(count, widen, stream);
}

cudaError_t element_hash(const float* values, std::size_t count, std::uint64_t* sum,
                         cudaStream_t stream) {
  return queue_sum<Hash>(values, count, sum, stream);
}

cudaError_t message_check(const float* values, std::size_t count, std::uint64_t* sum,
                          cudaStream_t stream) {
  return queue_sum<Check>(values, count, sum, stream);
}

}  // namespace rueda::cuda
