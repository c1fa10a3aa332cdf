#include "kernels.hpp"
#include "launch.cuh"
#include "rueda/kernels/statistics.hpp"

// One float per thread, or four where memory traffic is all that counts.

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

struct WeighStatistics {
  float* to;
  const float* from;
  const float* values_per_image;
  float samples;

  __device__ void operator()(std::size_t i) const {
    to[i] = kernels::weighted_statistic(from[i], samples,
                                        kernels::bessel(samples * values_per_image[i]));
  }
};

struct UpdateRunning {
  float* running;
  const float* weighted_sums;
  float samples;
  float momentum;

  __device__ void operator()(std::size_t i) const {
    running[i] = kernels::updated_running(running[i], weighted_sums[i], samples, momentum);
  }
};

}  // namespace

cudaError_t accumulate(float* into, const float* from, std::size_t count, cudaStream_t stream) {
  return for_each_four(count, aligned_for_float4(into, from), Accumulate{into, from}, stream);
}

cudaError_t sgd_update(float* values, float* velocities, const float* gradients, std::size_t count,
                       const kernels::SgdStep& step, cudaStream_t stream) {
  return for_each_four(count, aligned_for_float4(values, velocities, gradients),
                       SgdUpdate{values, velocities, gradients, step}, stream);
}

cudaError_t weigh_statistics(float* to, const float* from, const float* values_per_image,
                             std::size_t count, float samples, cudaStream_t stream) {
  return for_each(count, WeighStatistics{to, from, values_per_image, samples}, stream);
}

cudaError_t update_running(float* running, const float* weighted_sums, std::size_t count,
                           float samples, float momentum, cudaStream_t stream) {
  return for_each(count, UpdateRunning{running, weighted_sums, samples, momentum}, stream);
}

}  // namespace rueda::cuda
