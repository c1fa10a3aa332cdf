#pragma once

#include <algorithm>

#include "cuda/kernels/launch.cuh"

// Matrices with a row per pixel and a column per channel. A thread keeps to its
// columns, so what belongs to a channel is read once; a block is some columns
// wide and many rows high.

namespace rueda::cuda {

/// How a matrix is cut among blocks: a function of its shape alone, so that
/// sums are always taken in the same order.
struct ColumnTiles {
  dim3 grid;
  dim3 block;
};

/// Elements of 128 bytes, and of what a warp takes at once.
template <typename T>
inline constexpr int kLine = 128 / int(sizeof(T));
template <typename T>
inline constexpr int kWarpRow = 32 * kWide<T>;

// Body::kTile is the channels of a block at most. Without sums that is what a
// warp takes of a row. With sums it is fewer: one block adds up the sums of all
// blocks of a tile, hence tiles must not be few. But what is written, too, is a
// line of the cache of each row, so that multiprocessors share none: an H100
// added a bias with 53 % of its rate where eight blocks wrote parts of a row,
// and summed gradients with 50 % where two did (docs/results/h100.md).

/// About four blocks for each multiprocessor of the largest GPUs; fewer where a
/// block has more sums, because the last one reads those of all.
template <typename Body>
constexpr std::size_t column_blocks() {
  constexpr std::size_t kBlocks = 512;
  constexpr std::size_t kUsual = 64;  // sums of a block
  static_assert(kBlocks * kUsual <= kMostSums);
  constexpr std::size_t kSums = Body::kSums * Body::kTile;
  if constexpr (kSums > kUsual)
    return kBlocks * kUsual / kSums;
  else
    return kBlocks;
}

/// Blocks are many rather than long: a thread has no less than the rows that it
/// takes at once.
template <int width, typename Body>
ColumnTiles column_tiles(std::size_t rows, int channels) {
  const auto lanes = unsigned(channels / width);
  unsigned across = 1;
  while (across < lanes && int(across) * width < Body::kTile) across *= 2;
  const unsigned down = kBlockThreads / across;
  const unsigned columns = (lanes - 1) / across + 1;
  const std::size_t useful = (rows - 1) / (down * unsigned(Body::kRows)) + 1;
  const std::size_t most = std::max<std::size_t>(1, column_blocks<Body>() / columns);
  return {dim3(columns, unsigned(std::min(useful, most))), dim3(across, down)};
}

/// What a block knows of its channels; Channel is of the kernel's choice. It
/// lies in shared memory, because eight channels of it a thread would take most
/// registers. Threads next to each other read neighbours.
template <typename Channel, int kStride>
struct TileChannels {
  const Channel* mine;  ///< this thread's first
  __device__ const Channel& operator[](int i) const { return mine[i * kStride]; }
};

__device__ inline unsigned thread_of_block() { return threadIdx.y * blockDim.x + threadIdx.x; }

/// The sums of a block's threads, one set for each row of blocks: partial has
/// (splits, kSums, channels) floats.
template <int kSums, int width>
__device__ void write_partial(const float (&sums)[kSums][width], int channel, int channels,
                              float* partial) {
  __shared__ float shared[kSums * kBlockThreads * width];
  const unsigned thread = thread_of_block();
  const auto place = [&](int s, int i, unsigned t) {
    return (unsigned(s * width + i)) * kBlockThreads + t;
  };
  for (int s = 0; s < kSums; ++s)
    for (int i = 0; i < width; ++i) shared[place(s, i, thread)] = sums[s][i];
  for (unsigned half = blockDim.y / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y >= half) continue;
    for (int s = 0; s < kSums; ++s)
      for (int i = 0; i < width; ++i)
        shared[place(s, i, thread)] += shared[place(s, i, thread + half * blockDim.x)];
  }
  if (threadIdx.y != 0 || channel >= channels) return;
  for (int s = 0; s < kSums; ++s) {
    float* to = partial + (std::size_t(blockIdx.y) * kSums + s) * channels + channel;
    for (int i = 0; i < width; ++i) to[i] = shared[place(s, i, thread)];
  }
}

/// Whether this is the last block of its columns to come here: all others have
/// written their sums. The counter is 0 again then, for the next kernel. One
/// thread's fence holds for what the barrier shows it of the others' writes,
/// and for what the next barrier shows the others of its reads.
__device__ inline bool is_last_of_columns(unsigned* arrived) {
  __shared__ bool last;
  __syncthreads();
  if (thread_of_block() == 0) {
    __threadfence();
    last = atomicAdd(arrived + blockIdx.x, 1U) + 1 == gridDim.y;
    if (last) {
      arrived[blockIdx.x] = 0;
      __threadfence();
    }
  }
  __syncthreads();
  return last;
}

/// Adds up the partial sums of the block's channels, in double and in an order
/// that does not depend on which block does it: body.finish(channel, sums).
template <typename Body>
__device__ void finish_columns(const Body& body, const float* partial, int first, int end,
                               int channels) {
  constexpr int kSums = Body::kSums;
  constexpr unsigned kChannels = Body::kTile;
  constexpr unsigned kSlots = kBlockThreads / kChannels;
  constexpr unsigned kAtOnce = 8;
  __shared__ double shared[kSums][kBlockThreads];
  const unsigned thread = thread_of_block();
  const int channel = first + int(thread % kChannels);
  double mine[kSums] = {};
  for (unsigned split = thread / kChannels; split < gridDim.y && channel < end;
       split += kAtOnce * kSlots) {
    float read[kAtOnce][kSums];
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      const unsigned from = split + k * kSlots;
      for (int s = 0; s < kSums; ++s)
        read[k][s] =
            from < gridDim.y ? partial[(std::size_t(from) * kSums + s) * channels + channel] : 0.0F;
    }
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k)
      for (int s = 0; s < kSums; ++s) mine[s] += read[k][s];
  }
  for (int s = 0; s < kSums; ++s) shared[s][thread] = mine[s];
  __syncthreads();
  if (thread >= kChannels || channel >= end) return;
  for (unsigned slot = 1; slot < kSlots; ++slot)
    for (int s = 0; s < kSums; ++s) mine[s] += shared[s][slot * kChannels + thread];
  body.finish(channel, mine);
}

/// Body::run<width, rows>(channels, places, sums) on all packs, several
/// rows at once, with what Body::channel made of each channel; at the end
/// Body::finish with Body::kSums sums over the rows, if there are any.
/// Body::kBackwards: from the last row to the first. The kernel or convolution
/// before went forwards, and of an activation that is larger than the cache its
/// end is still there; what goes forwards after this one finds the beginning.
template <int width, typename Body>
__global__ void __launch_bounds__(kBlockThreads, 4)
    each_pack_of_columns(Body body, unsigned rows, int channels, SumScratch* scratch) {
  wait_for_previous_kernel();
  using Channel = decltype(body.channel(0));
  static_assert(Body::kTile <= int(kBlockThreads));  // a thread fills in one channel
  constexpr int kStride = Body::kTile / width + 1;   // else these meet in a bank
  __shared__ Channel table[kStride * width];
  constexpr int kSums = Body::kSums;
  const unsigned thread = thread_of_block();
  const int tile = int(blockDim.x) * width;
  const int first = int(blockIdx.x) * tile;
  const int end = first + tile < channels ? first + tile : channels;
  if (first + int(thread) < end)
    table[int(thread) % width * kStride + int(thread) / width] = body.channel(first + int(thread));
  __syncthreads();

  const int channel = first + int(threadIdx.x) * width;
  float sums[kSums == 0 ? 1 : kSums][width] = {};
  if (channel < channels) {
    const TileChannels<Channel, kStride> of{table + threadIdx.x};
    const unsigned stride = gridDim.y * blockDim.y;
    std::size_t step = std::size_t(stride) * unsigned(channels);
    if constexpr (Body::kBackwards) step = -step;
    unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
    const auto take = [&](auto constant) {
      constexpr unsigned count = decltype(constant)::value;
#pragma unroll 1  // a body has its rows
      for (; row + (count - 1) * stride < rows; row += count * stride) {
        // Else the compiler reads the table once, before the loop, into more registers than there
        // are.
        asm volatile("" ::: "memory");
        const unsigned place = Body::kBackwards ? rows - 1 - row : row;
        const std::size_t at = std::size_t(place) * unsigned(channels) + unsigned(channel);
        body.template run<width, count>(of, PackPlaces{at, step}, sums);
      }
    };
    if constexpr (Body::kRows > 1) take(std::integral_constant<int, Body::kRows>());
    take(std::integral_constant<int, 1>());
  }
  if constexpr (kSums > 0) {
    write_partial(sums, channel, channels, scratch->partial);
    if (is_last_of_columns(scratch->arrived))
      finish_columns(body, scratch->partial, first, end, channels);
  }
}

/// Nothing where there is no row or no channel.
template <int width, typename Body>
void for_each_in_columns(std::size_t rows, int channels, const Body& body, SumScratch* scratch,
                         cudaStream_t stream) {
  if (rows == 0 || channels == 0) return;
  const ColumnTiles tiles = column_tiles<width, Body>(rows, channels);
  const std::size_t sums = std::size_t(Body::kSums) * unsigned(channels);
  if (tiles.grid.x > kMostTiles || sums > kMostSums || rows > UINT32_MAX / 2)
    throw_launch_error(cudaErrorInvalidValue, typeid(Body));
  launch_blocks(&each_pack_of_columns<width, Body>, tiles.grid, tiles.block, stream, body,
                unsigned(rows), channels, scratch);
}

}  // namespace rueda::cuda
