#include <bit>

#include "cuda/kernels/launch.cuh"
#include "rueda/reduce/reduce_device.hpp"

// Sums of arrays that may lie on other GPUs. A thread loads its place of all
// arrays before it adds, since a load over a link takes several times as long
// as one from the GPU's own memory.

namespace rueda::cuda {
namespace {

struct Arrays {
  const float* from[kMostSummed];
  float* to[kMostSummed];
  int sources;
  int targets;
};

template <int width, int packs>
using Floats = Packs<float, width, packs>;

template <int width, int packs>
__device__ inline void add_packs(Floats<width, packs>& into, const Floats<width, packs>& from) {
  for (int k = 0; k < packs; ++k)
    for (int i = 0; i < width; ++i)
      into.of[k].values[i] = into.of[k].values[i] + from.of[k].values[i];
}

/// Of a tree in the order of TreeOrder: its left part is the largest power of
/// two below the number of summands.
template <int count>
constexpr int kLeft = int(std::bit_floor(unsigned(count - 1)));

/// The sum of `count` values in that order.
template <int count, int width, int packs>
__device__ inline Floats<width, packs> sum_of(const Floats<width, packs>* loaded) {
  if constexpr (count == 1) {
    return loaded[0];
  } else {
    constexpr int left = kLeft<count>;
    auto sum = sum_of<left>(loaded);
    add_packs(sum, sum_of<count - left>(loaded + left));
    return sum;
  }
}

/// As many as are loaded at once; more are summed in groups, which are branches of the tree.
constexpr int kGroup = 8;

template <int count, int width, int packs>
__device__ inline Floats<width, packs> sum_at(const float* const* from, PackPlaces at) {
  if constexpr (count > kGroup) {  // a power of two
    auto sum = sum_at<count / 2, width, packs>(from, at);
    add_packs(sum, sum_at<count / 2, width, packs>(from + count / 2, at));
    return sum;
  } else {
    Floats<width, packs> loaded[count];
#pragma unroll
    for (int r = 0; r < count; ++r) loaded[r] = load_packs<float, width, packs>(from[r], at);
    return sum_of<count>(loaded);
  }
}

/// The same of a number that is known at run time only, up to `most`, a power of two.
template <int most, int width, int packs>
__device__ inline Floats<width, packs> sum_up_to(const float* const* from, int count,
                                                 PackPlaces at) {
  if constexpr (most == 1) {
    return load_packs<float, width, packs>(from[0], at);
  } else {
    const int left = count > most / 2 ? most / 2 : 0;
    const auto right = sum_up_to<most / 2, width, packs>(from + left, count - left, at);
    if (left == 0) return right;
    auto sum = sum_at<most / 2, width, packs>(from, at);
    add_packs(sum, right);
    return sum;
  }
}

/// `known` arrays; 0: any number.
template <int known>
struct PeerSum {
  static constexpr int kPacks = std::max(1, kGroup / (known == 0 ? kGroup : known));
  Arrays arrays;

  template <int width, int packs>
  __device__ void run(PackPlaces at) const {
    if constexpr (known == 0) {
      const auto sum = sum_up_to<int(kMostSummed), width, packs>(arrays.from, arrays.sources, at);
      for (int t = 0; t < arrays.targets; ++t) sum.store(arrays.to[t], at);
    } else {
      const auto sum = sum_at<known, width, packs>(arrays.from, at);
#pragma unroll
      for (int t = 0; t < known; ++t)
        if (t < arrays.targets) sum.store(arrays.to[t], at);
    }
  }
};

template <int known>
void queue_tree_sum(const Arrays& arrays, std::size_t count, std::size_t before,
                    cudaStream_t stream) {
  with_width<float>(before != kNoPacks, [&](auto width) {
    for_each_pack<width>(count, before, PeerSum<known>{arrays}, stream);
  });
}

/// By the number of arrays; the first is for more than kGroup.
constexpr decltype(&queue_tree_sum<0>) kQueues[] = {
    &queue_tree_sum<0>, &queue_tree_sum<1>, &queue_tree_sum<2>,
    &queue_tree_sum<3>, &queue_tree_sum<4>, &queue_tree_sum<5>,
    &queue_tree_sum<6>, &queue_tree_sum<7>, &queue_tree_sum<8>};
static_assert(std::size(kQueues) == kGroup + 1);

}  // namespace

void peer_sum(std::span<const float* const> from, std::span<float* const> to, std::size_t count,
              cudaStream_t stream) {
  if (from.empty() || from.size() > kMostSummed || to.size() > from.size())
    throw_launch_error(cudaErrorInvalidValue, typeid(Arrays));
  Arrays arrays{.from = {}, .to = {}, .sources = int(from.size()), .targets = int(to.size())};
  std::size_t before = elements_before_packs<float>(from[0]);
  const auto look = [&](const float* array) {
    if (elements_before_packs<float>(from[0], array) == kNoPacks) before = kNoPacks;
  };
  for (std::size_t r = 0; r < from.size(); ++r) look(arrays.from[r] = from[r]);
  for (std::size_t k = 0; k < to.size(); ++k) look(arrays.to[k] = to[k]);
  kQueues[from.size() > kGroup ? 0 : from.size()](arrays, count, before, stream);
}

}  // namespace rueda::cuda
