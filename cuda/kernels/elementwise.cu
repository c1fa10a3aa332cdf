#include "launch.cuh"
#include "rueda/kernels/batch_norm.hpp"
#include "rueda/kernels/bfloat16.hpp"
#include "rueda/kernels/element_hash.hpp"

// One float per thread, or four where memory traffic is all that counts. What
// goes over a wire of bf16 has one: the wire is slower than any of this.

namespace rueda::cuda {
namespace {

struct SgdUpdate {
  static constexpr int kPacks = 2;
  float* values;
  float* velocities;
  const float* gradients;
  kernels::SgdStep rule;

  template <int width, int packs>
  __device__ void run(PackPlaces at) const {
    auto w = load_packs<float, width, packs>(values, at);
    auto v = load_packs<float, width, packs>(velocities, at);
    const auto g = load_packs<float, width, packs>(gradients, at);
    each_element<width, packs>([&](int k, int i) {
      kernels::sgd_update(w.of[k].values[i], v.of[k].values[i], g.at(k, i), rule);
    });
    w.store(values, at);
    v.store(velocities, at);
  }
};

using Sum = unsigned long long;  // the 64-bit type that atomicAdd takes
static_assert(sizeof(Sum) == sizeof(std::uint64_t));

/// Each thread sums the shares of its own elements, each warp its threads, and
/// one atomic addition per warp sums the warps.
template <auto share>
__global__ void sum_shares(const float* values, std::size_t count, Sum* sum) {
  Sum mine = 0;
  for (std::size_t i = first_index(); i < count; i += index_stride()) mine += share(i, values[i]);
  for (unsigned distance = 16; distance > 0; distance /= 2)
    mine += __shfl_down_sync(0xffffffffU, mine, distance);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
}

template <auto share>
void queue_sum(const float* values, std::size_t count, std::uint64_t* sum, cudaStream_t stream) {
  const auto zeroed = cudaMemsetAsync(sum, 0, sizeof *sum, stream);
  if (zeroed != cudaSuccess) throw_launch_error(zeroed, typeid(share));
  launch(&sum_shares<share>, count, stream, values, count, reinterpret_cast<Sum*>(sum));
}

/// A row of blocks for each slice.
__global__ void widen_slices(float* to, const kernels::Bfloat16* from, Slices slices) {
  const auto [begin, count] = slices.at[blockIdx.y];
  for (std::size_t i = first_index(); i < count; i += index_stride())
    to[begin + i] = kernels::to_float(from[begin + i]);
}

}  // namespace

void sgd_update(float* values, float* velocities, const float* gradients, std::size_t count,
                const kernels::SgdStep& step, cudaStream_t stream) {
  const std::size_t before = elements_before_packs<float>(values, velocities, gradients);
  with_width<float>(before != kNoPacks, [&](auto width) {
    for_each_pack<width>(count, before, SgdUpdate{values, velocities, gradients, step}, stream);
  });
}

void weigh_statistics(float* to, const float* from, const float* values_per_image,
                      std::size_t count, float samples, cudaStream_t stream) {
  const auto weigh = [=] __device__(std::size_t i) {
    const float bessel = kernels::bessel(samples * values_per_image[i]);
    to[i] = kernels::weighted_statistic(from[i], samples, bessel);
  };
  for_each(count, weigh, stream);
}

void update_running(float* running, const float* weighted_sums, std::size_t count, float samples,
                    float momentum, cudaStream_t stream) {
  const auto update = [=] __device__(std::size_t i) {
    running[i] = kernels::updated_running(running[i], weighted_sums[i], samples, momentum);
  };
  for_each(count, update, stream);
}

void to_bf16(kernels::Bfloat16* to, const float* from, float* lost, std::size_t count,
             cudaStream_t stream) {
  const auto narrow = [=] __device__(std::size_t i) {
    to[i] = lost == nullptr ? kernels::from_float<kernels::Bfloat16>(from[i])
                            : kernels::narrow_with_feedback(from[i], lost[i]);
  };
  for_each(count, narrow, stream);
}

void add_bf16(float* into, const kernels::Bfloat16* from, std::size_t count, cudaStream_t stream) {
  const auto add = [=] __device__(std::size_t i) {
    into[i] = into[i] + kernels::to_float(from[i]);
  };
  for_each(count, add, stream);
}

void to_fp32(float* to, const kernels::Bfloat16* from, std::size_t count, cudaStream_t stream) {
  const auto widen = [=] __device__(std::size_t i) { to[i] = kernels::to_float(from[i]); };
  for_each(count, widen, stream);
}

void to_fp32(float* to, const kernels::Bfloat16* from, const Slices& slices, cudaStream_t stream) {
  if (slices.size == 0) return;
  constexpr auto kBlocks = unsigned(std::min<std::size_t>(64, kMaxBlocks));  // for a slice
  launch_blocks(&widen_slices, dim3(kBlocks, slices.size), dim3(kBlockThreads), stream, to, from,
                slices);
}

void element_hash(const float* values, std::size_t count, std::uint64_t* sum, cudaStream_t stream) {
  queue_sum<kernels::element_hash>(values, count, sum, stream);
}

void message_check(const float* values, std::size_t count, std::uint64_t* sum,
                   cudaStream_t stream) {
  queue_sum<kernels::message_check>(values, count, sum, stream);
}

}  // namespace rueda::cuda
