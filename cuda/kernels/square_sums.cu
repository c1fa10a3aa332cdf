#include <cmath>

#include "cuda/kernels/columns.cuh"
#include "cuda/kernels/slices.cuh"
#include "kernels/square_sum.hpp"

namespace rueda::cuda {
namespace {

constexpr unsigned kWarps = kBlockThreads / kWarpLanes;
static_assert(kernels::kSquareLanes == kWarpLanes);

/// Ranges of an array and their pieces, which a kernel takes by value: as many as parameters have
/// room for.
struct SquareRanges {
  static constexpr unsigned kMost = 200;
  unsigned size = 0;
  std::size_t begin[kMost + 1];     ///< of each range; the last one's end follows
  unsigned first_piece[kMost + 1];  ///< of each range; how many there are follows
  unsigned length[kMost];           ///< elements of a piece

  unsigned pieces() const { return first_piece[size]; }
  bool has_room(unsigned more) const {
    return size < kMost && (size == 0 || pieces() + more <= kernels::kMostSquarePieces);
  }
  __device__ unsigned range_of(unsigned piece) const {
    return last_not_above(first_piece, size, piece);
  }
};

__device__ double piece_sum(const float* values, std::size_t count, unsigned lane) {
  double mine = 0;
  each_value(values, count, lane, kWarpLanes,
             [&](std::size_t, float value) { mine += kernels::square(value); });
  return lanes_sum(mine);
}

__device__ double range_sum(const double* pieces, unsigned count, unsigned lane) {
  double mine = 0;
  for (unsigned i = lane; i < count; i += kWarpLanes) mine += pieces[i];
  return lanes_sum(mine);
}

/// A warp has a piece to itself. The last block adds the pieces of each range.
__global__ void add_squares(const float* values, SquareRanges ranges, double* to,
                            SumScratch* scratch) {
  wait_for_previous_kernel();
  auto* sums = reinterpret_cast<double*>(scratch->partial);
  const unsigned lane = lane_of_warp();
  const unsigned warp = threadIdx.x / kWarpLanes;
  const unsigned all = ranges.first_piece[ranges.size];
  for (unsigned piece = blockIdx.y * kWarps + warp; piece < all; piece += gridDim.y * kWarps) {
    const unsigned range = ranges.range_of(piece);
    const std::size_t length = ranges.length[range];
    const std::size_t first = ranges.begin[range] + (piece - ranges.first_piece[range]) * length;
    const std::size_t left = ranges.begin[range + 1] - first;
    const double sum = piece_sum(values + first, left < length ? left : length, lane);
    if (lane == 0) sums[piece] = sum;
  }
  if (!is_last_of_columns(scratch->arrived)) return;
  for (unsigned range = warp; range < ranges.size; range += kWarps) {
    const unsigned first = ranges.first_piece[range];
    const double sum = range_sum(sums + first, ranges.first_piece[range + 1] - first, lane);
    if (lane == 0) to[range] = sum;
  }
}

/// A warp.
__global__ void write_part(float* to, const double* squares, unsigned count, float images,
                           float* flags) {
  wait_for_previous_kernel();
  const double sum = range_sum(squares, count, threadIdx.x);
  if (threadIdx.x != 0) return;
  const float share = kernels::part_squares(sum, images);
  to[5] = share;
  to[6] = 1.0F;
  if (!std::isfinite(share)) to[3] = flags[0] = 1.0F;
}

}  // namespace

static_assert(sizeof(SumScratch::partial) >= kernels::kMostSquarePieces * sizeof(double));
static_assert(offsetof(SumScratch, partial) % sizeof(double) == 0);

void square_sums(const float* values, std::span<const std::size_t> ends, double* to,
                 SumScratch* scratch, cudaStream_t stream) {
  SquareRanges ranges;
  std::size_t begin = 0;
  const auto queue = [&] {
    if (ranges.size == 0) return;
    const std::size_t blocks =
        std::clamp<std::size_t>(pieces(ranges.pieces(), kWarps), 1, kMaxBlocks);
    launch_blocks(&add_squares, dim3(1, unsigned(blocks)), dim3(kBlockThreads), stream, values,
                  ranges, to, scratch);
    to += ranges.size;
    ranges.size = 0;
  };
  ranges.first_piece[0] = 0;
  for (const std::size_t end : ends) {
    const std::size_t length = kernels::square_piece(end - begin);
    const auto more = unsigned(pieces(end - begin, length));
    if (!ranges.has_room(more)) queue();
    ranges.begin[ranges.size] = begin;
    ranges.length[ranges.size] = unsigned(length);
    ++ranges.size;
    ranges.begin[ranges.size] = end;
    ranges.first_piece[ranges.size] = ranges.first_piece[ranges.size - 1] + more;
    begin = end;
  }
  queue();
}

void write_part_squares(float* to, std::span<const double> squares, float images, float* flags,
                        cudaStream_t stream) {
  launch_blocks(&write_part, dim3(1), dim3(kWarpLanes), stream, to, squares.data(),
                unsigned(squares.size()), images, flags);
}

}  // namespace rueda::cuda
