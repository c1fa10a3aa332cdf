#pragma once

#include <algorithm>

#include "launch.cuh"

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

/// About four blocks for each multiprocessor of the largest GPUs.
inline constexpr std::size_t kColumnBlocks = 512;
inline constexpr std::size_t kRowsPerThread = 8;

inline ColumnTiles column_tiles(std::size_t rows, int channels, int width) {
  const auto lanes = unsigned(channels / width);
  unsigned across = 1;
  while (across < lanes && across < 32) across *= 2;
  const unsigned down = kBlockThreads / across;
  const unsigned columns = (lanes - 1) / across + 1;
  const std::size_t useful = (rows - 1) / (down * kRowsPerThread) + 1;
  const std::size_t splits = std::min(useful, std::max<std::size_t>(1, kColumnBlocks / columns));
  return {dim3(columns, unsigned(splits)), dim3(across, down)};
}

__device__ inline int first_channel(int width) {
  return int(blockIdx.x * blockDim.x + threadIdx.x) * width;
}
__device__ inline std::size_t first_row() {
  return std::size_t(blockIdx.y) * blockDim.y + threadIdx.y;
}
__device__ inline std::size_t row_stride() { return std::size_t(gridDim.y) * blockDim.y; }

/// Body::run<width>(state, row, first channel) on every pack, with what
/// Body::begin<width> made of the columns.
template <int width, typename Body>
__global__ void each_pack_of_columns(Body body, std::size_t rows, int channels) {
  const int channel = first_channel(width);
  if (channel >= channels) return;
  const auto state = body.template begin<width>(channel);
#pragma unroll 4  // loads of several rows in flight
  for (std::size_t row = first_row(); row < rows; row += row_stride())
    body.template run<width>(state, row, channel);
}

template <typename T, typename Body>
cudaError_t for_each_in_columns(std::size_t rows, int channels, bool packed, const Body& body,
                                cudaStream_t stream) {
  const ColumnTiles tiles = column_tiles(rows, channels, packed ? kWide<T> : 1);
  return launch_blocks(
      packed ? &each_pack_of_columns<kWide<T>, Body> : &each_pack_of_columns<1, Body>, tiles.grid,
      tiles.block, stream, body, rows, channels);
}

/// Body::kSums sums over the rows of each column, one set for each row of
/// blocks: partial has (splits, kSums, channels) floats.
template <int width, typename Body>
__global__ void sum_columns(Body body, std::size_t rows, int channels, float* partial) {
  constexpr int kSums = Body::kSums;
  __shared__ float shared[kSums * kBlockThreads * width];
  const int channel = first_channel(width);
  const bool mine = channel < channels;
  float sums[kSums][width] = {};
  if (mine) {
    const auto state = body.template begin<width>(channel);
#pragma unroll 4
    for (std::size_t row = first_row(); row < rows; row += row_stride())
      body.template add<width>(state, row, channel, sums);
  }
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
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
  if (threadIdx.y != 0 || !mine) return;
  for (int s = 0; s < kSums; ++s) {
    float* to = partial + (std::size_t(blockIdx.y) * kSums + s) * channels + channel;
    for (int i = 0; i < width; ++i) to[i] = shared[place(s, i, thread)];
  }
}

/// Adds up the partial sums of each channel, a warp a channel, in double and in
/// a fixed order, and hands them to `finish(channel, sums)`.
template <int kSums, typename Finish>
__global__ void finish_columns(const float* partial, unsigned splits, int channels, Finish finish) {
  const unsigned lane = threadIdx.x;
  const int channel = int(blockIdx.x * blockDim.y + threadIdx.y);
  double sums[kSums] = {};
  for (unsigned split = lane; split < splits && channel < channels; split += 32)
    for (int s = 0; s < kSums; ++s)
      sums[s] += partial[(std::size_t(split) * kSums + s) * channels + channel];
  for (int s = 0; s < kSums; ++s)
    for (int distance = 16; distance > 0; distance /= 2)
      sums[s] += __shfl_xor_sync(0xffffffffU, sums[s], distance);
  if (lane == 0 && channel < channels) finish(channel, sums);
}

template <typename T, typename Body, typename Finish>
cudaError_t reduce_columns(std::size_t rows, int channels, bool packed, const Body& body,
                           float* partial, const Finish& finish, cudaStream_t stream) {
  constexpr unsigned kChannelsPerBlock = 8;
  const ColumnTiles tiles = column_tiles(rows, channels, packed ? kWide<T> : 1);
  const cudaError_t summed =
      launch_blocks(packed ? &sum_columns<kWide<T>, Body> : &sum_columns<1, Body>, tiles.grid,
                    tiles.block, stream, body, rows, channels, partial);
  if (summed != cudaSuccess) return summed;
  const dim3 last((unsigned(channels) - 1) / kChannelsPerBlock + 1);
  return launch_blocks(&finish_columns<Body::kSums, Finish>, last, dim3(32, kChannelsPerBlock),
                       stream, static_cast<const float*>(partial), tiles.grid.y, channels, finish);
}

}  // namespace rueda::cuda
