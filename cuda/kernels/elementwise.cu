#include <span>
#include <vector>

#include "base/bfloat16.hpp"
#include "base/element_hash.hpp"
#include "cuda/kernels/slices.cuh"
#include "kernels/batch_norm.hpp"

// Packs of 16 bytes, several at once, where memory traffic is all that counts;
// single floats in what is few.

namespace rueda::cuda {
namespace {

using kernels::Bfloat16;

constexpr int kUpdatedPacks = 2;

/// Gradients are fp32 or bf16.
template <typename Gradient>
struct SgdUpdate {
  static constexpr int kPacks = kUpdatedPacks;
  float* values;
  float* velocities;
  const Gradient* gradients;
  Bfloat16* packed;  ///< gets the new values, rounded; null: not wanted
  kernels::SgdStep rule;

  template <int width, int packs>
  __device__ void run(PackPlaces at) const {
    auto w = load_packs<float, width, packs>(values, at);
    auto v = load_packs<float, width, packs>(velocities, at);
    const auto g = load_packs<Gradient, width, packs>(gradients, at);
    each_element<width, packs>([&](int k, int i) {
      kernels::sgd_update(w.of[k].values[i], v.of[k].values[i], g.at(k, i), rule);
    });
    w.store(values, at);
    v.store(velocities, at);
    if (packed == nullptr) return;
    Packs<Bfloat16, width, packs> narrow;
    each_element<width, packs>([&](int k, int i) { narrow.set(k, i, w.at(k, i)); });
    narrow.store(packed, at);
  }
};

/// What an update changes, from element `begin` on by `at`.
struct UpdatedArrays {
  float* values;
  float* velocities;
  Bfloat16* packed;  ///< or null

  template <typename Gradient>
  __device__ SgdUpdate<Gradient> at(std::size_t begin, const Gradient* gradients,
                                    const kernels::SgdStep& rule) const {
    Bfloat16* const copy = packed == nullptr ? nullptr : packed + begin;
    return {values + begin, velocities + begin, gradients + begin, copy, rule};
  }
};

struct Narrow {
  static constexpr int kPacks = 2;
  Bfloat16* to;
  const float* from;

  template <int width, int packs>
  __device__ void run(PackPlaces at) const {
    const auto wide = load_packs<float, width, packs>(from, at);
    Packs<Bfloat16, width, packs> narrow;
    each_element<width, packs>([&](int k, int i) { narrow.set(k, i, wide.at(k, i)); });
    narrow.store(to, at);
  }
};

struct AddNarrow {
  static constexpr int kPacks = 2;
  float* into;
  const Bfloat16* from;

  template <int width, int packs>
  __device__ void run(PackPlaces at) const {
    auto sum = load_packs<float, width, packs>(into, at);
    const auto narrow = load_packs<Bfloat16, width, packs>(from, at);
    each_element<width, packs>(
        [&](int k, int i) { sum.set(k, i, sum.at(k, i) + narrow.at(k, i)); });
    sum.store(into, at);
  }
};

struct Widen {
  static constexpr int kPacks = 2;
  float* to;
  const Bfloat16* from;

  template <int width, int packs>
  __device__ void run(PackPlaces at) const {
    const auto narrow = load_packs<Bfloat16, width, packs>(from, at);
    Packs<float, width, packs> wide;
    each_element<width, packs>([&](int k, int i) { wide.set(k, i, narrow.at(k, i)); });
    wide.store(to, at);
  }
};

using Sum = unsigned long long;  // the 64-bit type that atomicAdd takes
static_assert(sizeof(Sum) == sizeof(std::uint64_t));

/// Each thread sums the shares of its own elements, each warp its threads, and
/// one atomic addition per warp sums the warps.
template <auto share>
__global__ void sum_shares(const float* values, std::size_t count, Sum* sum) {
  wait_for_previous_kernel();
  Sum mine = 0;
  each_value(values, count, first_index(), index_stride(),
             [&](std::size_t i, float value) { mine += share(i, value); });
  mine = lanes_sum(mine);
  if (lane_of_warp() == 0) atomicAdd(sum, mine);
}

template <auto share>
void queue_sum(const float* values, std::size_t count, std::uint64_t* sum, cudaStream_t stream) {
  const auto zeroed = cudaMemsetAsync(sum, 0, sizeof *sum, stream);
  if (zeroed != cudaSuccess) throw_launch_error(zeroed, typeid(share));
  launch(&sum_shares<share>, count, stream, values, count, reinterpret_cast<Sum*>(sum));
}

template <int width>
__global__ void __launch_bounds__(kBlockThreads, 4)
    widen_slices(Widen arrays, std::size_t before, SliceBlocks<Slice> slices) {
  wait_for_previous_kernel();
  const unsigned k = slices.mine();
  const std::size_t begin = slices.at[k].begin;
  run_slice<width>(slices, k, before, Widen{arrays.to + begin, arrays.from + begin});
}

/// Neighbouring gradients that lie in one array.
struct GradientSlice {
  std::size_t begin;
  std::size_t count;
  bool narrow;
};

/// All slices from 0 up to `count`: those of `narrow`, and what lies between them.
std::vector<GradientSlice> gradient_slices(std::span<const Slice> narrow, std::size_t count) {
  std::vector<GradientSlice> slices;
  std::size_t end = 0;
  for (const Slice& slice : narrow) {
    slices.push_back({end, slice.begin - end, false});
    slices.push_back({slice.begin, slice.count, true});
    end = slice.begin + slice.count;
  }
  slices.push_back({end, count - end, false});
  return slices;
}

template <int width>
__global__ void __launch_bounds__(kBlockThreads, 4)
    update_slices(UpdatedArrays arrays, const float* gradients, const Bfloat16* narrow,
                  kernels::SgdStep rule, std::size_t before, SliceBlocks<GradientSlice> slices) {
  wait_for_previous_kernel();
  const unsigned k = slices.mine();
  const std::size_t begin = slices.at[k].begin;
  if (slices.at[k].narrow)
    run_slice<width>(slices, k, before, arrays.at(begin, narrow, rule));
  else
    run_slice<width>(slices, k, before, arrays.at(begin, gradients, rule));
}

/// Squares are by tensor.
template <int width>
__global__ void __launch_bounds__(kBlockThreads, 4)
    update_tensors(UpdatedArrays arrays, const float* gradients, kernels::LarsStep step,
                   const double* value_squares, const double* gradient_squares, std::size_t before,
                   SliceBlocks<LarsTensor> tensors) {
  wait_for_previous_kernel();
  const unsigned k = tensors.mine();
  const auto rule =
      kernels::lars_step(step, tensors.at[k].adapted, value_squares[k], gradient_squares[k]);
  run_slice<width>(tensors, k, before, arrays.at(tensors.at[k].begin, gradients, rule));
}

}  // namespace

void sgd_update(float* values, float* velocities, const float* gradients,
                const NarrowGradients& narrow, Bfloat16* packed, std::size_t count,
                const kernels::SgdStep& step, cudaStream_t stream) {
  const UpdatedArrays arrays{values, velocities, packed};
  const std::vector<GradientSlice> slices = gradient_slices(narrow.slices, count);
  const std::size_t before =
      elements_before_packs_of<kWide<float>>(values, velocities, gradients, narrow.values, packed);
  with_width<float>(before != kNoPacks, [&](auto width) {
    for_slices<GradientSlice>(slices, width, kUpdatedPacks, [&](const auto& some, std::size_t) {
      launch_blocks(&update_slices<width>, dim3(some.blocks), dim3(kBlockThreads), stream, arrays,
                    gradients, narrow.values, step, before, some);
    });
  });
}

void lars_update(const LarsSlice& slice, Bfloat16* packed, const kernels::LarsStep& step,
                 cudaStream_t stream) {
  const UpdatedArrays arrays{slice.values.data(), slice.velocities.data(), packed};
  const float* gradients = slice.gradients.data();
  const std::size_t before =
      elements_before_packs_of<kWide<float>>(arrays.values, arrays.velocities, gradients, packed);
  with_width<float>(before != kNoPacks, [&](auto width) {
    const auto queue = [&](const auto& some, std::size_t first) {
      launch_blocks(&update_tensors<width>, dim3(some.blocks), dim3(kBlockThreads), stream, arrays,
                    gradients, step, &slice.value_squares[first], &slice.gradient_squares[first],
                    before, some);
    };
    for_slices(slice.tensors, width, kUpdatedPacks, queue);
  });
}

void weigh_statistics(float* to, const float* from, const float* values_per_image,
                      std::size_t count, float samples, cudaStream_t stream) {
  const auto weigh = [=] __device__(std::size_t i) {
    const float bessel = kernels::bessel(samples * values_per_image[i]);
    to[i] = kernels::weighted_statistic(from[i], samples, bessel);
  };
  for_few(count, weigh, stream);
}

void update_running(float* running, const float* weighted_sums, std::size_t count, float samples,
                    float momentum, cudaStream_t stream) {
  const auto update = [=] __device__(std::size_t i) {
    running[i] = kernels::updated_running(running[i], weighted_sums[i], samples, momentum);
  };
  for_few(count, update, stream);
}

void to_bf16(Bfloat16* to, const float* from, std::size_t count, cudaStream_t stream) {
  const std::size_t before = elements_before_packs_of<kWide<Bfloat16>>(to, from);
  with_width<Bfloat16>(before != kNoPacks, [&](auto width) {
    for_each_pack<width>(count, before, Narrow{to, from}, stream);
  });
}

void add_bf16(float* into, const Bfloat16* from, std::size_t count, cudaStream_t stream) {
  const std::size_t before = elements_before_packs_of<kWide<Bfloat16>>(into, from);
  with_width<Bfloat16>(before != kNoPacks, [&](auto width) {
    for_each_pack<width>(count, before, AddNarrow{into, from}, stream);
  });
}

void to_fp32(float* to, const Bfloat16* from, std::size_t count, cudaStream_t stream) {
  const std::size_t before = elements_before_packs_of<kWide<Bfloat16>>(to, from);
  with_width<Bfloat16>(before != kNoPacks, [&](auto width) {
    for_each_pack<width>(count, before, Widen{to, from}, stream);
  });
}

void to_fp32(float* to, const Bfloat16* from, std::span<const Slice> slices, cudaStream_t stream) {
  const std::size_t before = elements_before_packs_of<kWide<Bfloat16>>(to, from);
  with_width<Bfloat16>(before != kNoPacks, [&](auto width) {
    for_slices(slices, width, Widen::kPacks, [&](const auto& some, std::size_t) {
      launch_blocks(&widen_slices<width>, dim3(some.blocks), dim3(kBlockThreads), stream,
                    Widen{to, from}, before, some);
    });
  });
}

void element_hash(const float* values, std::size_t count, std::uint64_t* sum, cudaStream_t stream) {
  queue_sum<kernels::element_hash>(values, count, sum, stream);
}

void message_check(const float* values, std::size_t count, std::uint64_t* sum,
                   cudaStream_t stream) {
  queue_sum<kernels::message_check>(values, count, sum, stream);
}

void nonfinite(const float* values, std::size_t count, std::uint64_t* sum, cudaStream_t stream) {
  queue_sum<kernels::nonfinite>(values, count, sum, stream);
}

}  // namespace rueda::cuda
