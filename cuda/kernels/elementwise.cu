#include "base/bfloat16.hpp"
#include "base/element_hash.hpp"
#include "cuda/kernels/launch.cuh"
#include "kernels/batch_norm.hpp"

// Packs of 16 bytes, several at once, where memory traffic is all that counts;
// single floats in what is few.

namespace rueda::cuda {
namespace {

using kernels::Bfloat16;

struct SgdUpdate {
  static constexpr int kPacks = 2;
  float* values;
  float* velocities;
  const float* gradients;
  Bfloat16* packed;  ///< gets the new values, rounded; null: not wanted
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
    if (packed == nullptr) return;
    Packs<Bfloat16, width, packs> narrow;
    each_element<width, packs>([&](int k, int i) { narrow.set(k, i, w.at(k, i)); });
    narrow.store(packed, at);
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
  Sum mine = 0;
  each_value(values, count, first_index(), index_stride(),
             [&](std::size_t i, float value) { mine += share(i, value); });
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

/// A row of blocks for each slice. `before` elements lie before the first pack of the arrays.
template <int width>
__global__ void __launch_bounds__(kBlockThreads, 4)
    widen_slices(Widen arrays, std::size_t before, Slices slices) {
  const auto [begin, count] = slices.at[blockIdx.y];
  const std::size_t own = (before - begin) % width;
  run_packs<width>(count, own < count ? own : count, Widen{arrays.to + begin, arrays.from + begin});
}

/// An update by LARS, as a kernel takes it by value: with as many tensors as parameters have room
/// for.
struct LarsWork {
  static constexpr std::size_t kMost = 150;
  SgdUpdate arrays;
  kernels::LarsStep step;
  const double* value_squares;
  const double* gradient_squares;
  LarsTensor tensors[kMost];

  __device__ SgdUpdate of(unsigned k) const {
    const std::size_t begin = tensors[k].begin;
    Bfloat16* packed = arrays.packed == nullptr ? nullptr : arrays.packed + begin;
    return {arrays.values + begin, arrays.velocities + begin, arrays.gradients + begin, packed,
            kernels::lars_step(step, tensors[k].adapted, value_squares[k], gradient_squares[k])};
  }
};

/// A row of blocks for each tensor. `before` as in widen_slices.
template <int width>
__global__ void __launch_bounds__(kBlockThreads, 4)
    update_tensors(LarsWork work, std::size_t before) {
  const std::size_t count = work.tensors[blockIdx.y].count;
  const std::size_t own = (before - work.tensors[blockIdx.y].begin) % width;
  run_packs<width>(count, own < count ? own : count, work.of(blockIdx.y));
}

}  // namespace

void sgd_update(float* values, float* velocities, const float* gradients, Bfloat16* packed,
                std::size_t count, const kernels::SgdStep& step, cudaStream_t stream) {
  const SgdUpdate update{values, velocities, gradients, packed, step};
  const std::size_t before =
      elements_before_packs_of<kWide<float>>(values, velocities, gradients, packed);
  with_width<float>(before != kNoPacks,
                    [&](auto width) { for_each_pack<width>(count, before, update, stream); });
}

/// So many blocks for each tensor that one thread of the longest takes its packs once.
void lars_update(const LarsSlice& slice, Bfloat16* packed, const kernels::LarsStep& step,
                 cudaStream_t stream) {
  LarsWork work{
      .arrays = {slice.values.data(), slice.velocities.data(), slice.gradients.data(), packed, {}},
      .step = step,
      .value_squares = nullptr,
      .gradient_squares = nullptr,
      .tensors = {}};
  const std::size_t before = elements_before_packs_of<kWide<float>>(
      work.arrays.values, work.arrays.velocities, work.arrays.gradients, packed);
  for (std::size_t first = 0; first < slice.tensors.size(); first += LarsWork::kMost) {
    const auto some =
        slice.tensors.subspan(first).first(std::min(slice.tensors.size() - first, LarsWork::kMost));
    std::ranges::copy(some, work.tensors);
    work.value_squares = &slice.value_squares[first];
    work.gradient_squares = &slice.gradient_squares[first];
    const std::size_t longest = std::ranges::max(some, {}, &LarsTensor::count).count;
    if (longest == 0) continue;
    with_width<float>(before != kNoPacks, [&](auto width) {
      const std::size_t one = std::size_t{kBlockThreads} * width * SgdUpdate::kPacks;
      const dim3 blocks(unsigned(std::min(pieces(longest, one), kMaxBlocks)),
                        unsigned(some.size()));
      launch_blocks(&update_tensors<width>, blocks, dim3(kBlockThreads), stream, work, before);
    });
  }
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

/// So many blocks for each slice that one thread of the longest takes its packs once.
void to_fp32(float* to, const Bfloat16* from, const Slices& slices, cudaStream_t stream) {
  std::size_t longest = 0;
  for (unsigned i = 0; i < slices.size; ++i) longest = std::max(longest, slices.at[i].count);
  if (longest == 0) return;
  const std::size_t before = elements_before_packs_of<kWide<Bfloat16>>(to, from);
  with_width<Bfloat16>(before != kNoPacks, [&](auto width) {
    const std::size_t blocks = pieces(longest, std::size_t{kBlockThreads} * width * Widen::kPacks);
    launch_blocks(&widen_slices<width>, dim3(unsigned(std::min(blocks, kMaxBlocks)), slices.size),
                  dim3(kBlockThreads), stream, Widen{to, from}, before, slices);
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
