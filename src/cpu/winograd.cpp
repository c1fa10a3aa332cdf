#include "cpu/winograd.hpp"

#include <algorithm>

#include <omp.h>

#include "base/split.hpp"
#include "cpu/parallel.hpp"
#include "cpu/winograd_tiles.hpp"

namespace rueda::cpu {
namespace {

using namespace winograd;

/// Tiles of a thread's block: transformed, they stay in its second-level cache.
constexpr std::size_t kBlock = 4 * kRows;
/// Tiles for which a strip of weights is transformed once.
constexpr std::size_t kGroup = 22 * kRows;
/// Channels that one call transforms the weights from.
constexpr std::size_t kWeightRows = 16;

/// The transformed weights, from `from` to `to` channels: strip after strip of columns, so that
/// what is read at once lies together.
PointMatrices weight_strips(float* values, std::size_t from, std::size_t to) {
  return {values, to / kStrip * from, kStrip, 0};
}

/// A part of one strip, from kDepth channels.
PointMatrices one_strip(float* values) { return {values, kDepth, kStrip, 0}; }

/// The weights as they lie. For the data gradient (`reversed`), which goes from the outputs to
/// the inputs, the kernel is turned around.
struct Weights {
  const float* values;
  std::size_t inputs;
  bool reversed;
};

/// Transforms the weights from kWeightRows channels, from `row` on, to two vectors of channels,
/// from `column` on, which go to column `to_column` of the rows from `to_row` on.
template <std::size_t lanes>
void transform_weights(const Weights& w, std::size_t row, std::size_t column,
                       const PointMatrices& to, std::size_t to_row, std::size_t to_column) {
  constexpr std::size_t kColumns = kVectors * lanes, kPlaces = kKernel * kKernel;
  alignas(64) float block[kWeightRows][kPlaces][kColumns];
  if (w.reversed) {
    for (std::size_t r = 0; r < kWeightRows; ++r)
      for (std::size_t p = 0; p < kPlaces; ++p)
        for (std::size_t c = 0; c < kColumns; ++c)
          block[r][kPlaces - 1 - p][c] =
              w.values[((row + r) * kPlaces + p) * w.inputs + column + c];
  } else {
    for (std::size_t c = 0; c < kColumns; ++c)
      for (std::size_t p = 0; p < kPlaces; ++p)
        for (std::size_t r = 0; r < kWeightRows; ++r)
          block[r][p][c] = w.values[((column + c) * kPlaces + p) * w.inputs + row + r];
  }
  Vector<lanes> square[kPlaces], points[kPoints];
  for (std::size_t r = 0; r < kWeightRows; ++r)
    for (std::size_t c = 0; c < kColumns; c += lanes) {
      for (std::size_t p = 0; p < kPlaces; ++p)
        square[p] = *reinterpret_cast<const Vector<lanes>*>(&block[r][p][c]);
      transform<FromWeights>(square, points);
      to.put<lanes>(to_row + r, to_column + c, points);
    }
}

/// The same to a whole strip.
template <std::size_t lanes>
void transform_strip(const Weights& w, std::size_t row, std::size_t strip, const PointMatrices& to,
                     std::size_t to_row) {
  for (std::size_t c = 0; c < kStrip; c += kVectors * lanes)
    transform_weights<lanes>(w, row, strip * kStrip + c, to, to_row, c);
}

/// Tiles that a thread takes at once; fewer where there are not enough for all threads.
std::size_t block_of(const Tiles& tiles) {
  const std::size_t share = whole_rows(pieces(tiles.count, std::size_t(omp_get_max_threads())));
  return share <= 2 * kBlock ? share : kBlock;
}

/// Tiles of which all channels are transformed at once, before strips of weights.
std::size_t group_of(const Tiles& tiles) { return std::min(kGroup, whole_rows(tiles.count)); }

}  // namespace

bool Winograd::reads(const ActivationView& view) {
  bool together = false;
  with_wide_vectors([&](auto lanes) { together = view.block % lanes() == 0; });
  return together;
}

Winograd::Winograd(const Shape& shape, const ActivationView& input, const ActivationView& output)
    : shape_(shape), input_{input, shape.inputs}, output_{output, shape.outputs} {}

std::size_t Winograd::scratch_bytes() const {
  return sizeof(float) * std::max({scratch_floats({input_, output_}),
                                   scratch_floats({output_, input_}), gradient_scratch_floats()});
}

bool Winograd::goes_by_strips(const Sides& sides) const {
  const std::size_t strips = sides.to.channels / kStrip;
  return 2 * group_of(Tiles(shape_)) <= sides.to.channels &&
         strips >= std::size_t(omp_get_max_threads());
}

std::size_t Winograd::scratch_floats(const Sides& sides) const {
  const Tiles tiles(shape_);
  const auto threads = std::size_t(omp_get_max_threads());
  const Side &from = sides.from, &to = sides.to;
  if (goes_by_strips(sides)) {
    const std::size_t rows = group_of(tiles);
    return PointMatrices{nullptr, rows, from.channels}.floats() +
           threads * (one_strip(nullptr).floats() + PointMatrices{nullptr, rows, kStrip}.floats());
  }
  const std::size_t block = block_of(tiles);
  return weight_strips(nullptr, from.channels, to.channels).floats() +
         threads * (PointMatrices{nullptr, block, from.channels}.floats() +
                    PointMatrices{nullptr, block, to.channels}.floats());
}

void Winograd::convolve(const Sides& sides, const float* x, float* y, const float* weights,
                        float* scratch) const {
  if (goes_by_strips(sides))
    convolve_strips(sides, x, y, weights, scratch);
  else
    convolve_blocks(sides, x, y, weights, scratch);
}

/// Block after block of tiles, with all weights transformed before.
void Winograd::convolve_blocks(const Sides& sides, const float* x, float* y, const float* weights,
                               float* scratch) const {
  const Side &from = sides.from, &to = sides.to;
  const Tiles tiles(shape_);
  const std::size_t block = block_of(tiles), strips = to.channels / kStrip;
  const Weights given{weights, shape_.inputs, &from == &output_};
  const PointMatrices right = weight_strips(scratch, from.channels, to.channels);
  parallel_for(from.channels / kWeightRows * strips, [&](std::size_t i, auto lanes) {
    const std::size_t row = i / strips * kWeightRows, strip = i % strips;
    transform_strip<lanes>(given, row, strip, right, strip * from.channels + row);
  });
  float* const blocks = scratch + right.floats();
  parallel_for(pieces(tiles.count, block), [&](std::size_t i, auto lanes) {
    PointMatrices left{nullptr, block, from.channels}, sums{nullptr, block, to.channels};
    left.values = blocks + std::size_t(omp_get_thread_num()) * (left.floats() + sums.floats());
    sums.values = left.values + left.floats();
    const std::size_t first = i * block, count = std::min(block, tiles.count - first);
    for (std::size_t t = 0; t < count; ++t)
      transform_tile<FromInput, lanes>(tiles, first + t, from.view, x, 1, left, t);
    for (std::size_t point = 0; point < kPoints; ++point)
      for (std::size_t c = 0; c < to.channels; c += kVectors * lanes)
        multiply<lanes>({left.at(point, 0, 0), left.row_step(), 1},
                        {right.at(point, c / kStrip * from.channels, c % kStrip), kStrip, 1},
                        from.channels, sums, point, c, false);
    for (std::size_t t = 0; t < count; ++t)
      write_tile<lanes>(tiles, first + t, sums, t, to.view, 0, y);
  });
}

/// Strip after strip of channels, of a group of tiles. Where these are fewer than the channels,
/// the transformed weights are the most of all numbers: here they stay in a thread's cache.
void Winograd::convolve_strips(const Sides& sides, const float* x, float* y, const float* weights,
                               float* scratch) const {
  const Side &from = sides.from, &to = sides.to;
  const Tiles tiles(shape_);
  const Weights given{weights, shape_.inputs, &from == &output_};
  const std::size_t group = group_of(tiles);
  for (std::size_t first = 0; first < tiles.count; first += group) {
    const std::size_t count = std::min(group, tiles.count - first);
    const PointMatrices left{scratch, whole_rows(count), from.channels};
    parallel_for(count, [&](std::size_t t, auto lanes) {
      transform_tile<FromInput, lanes>(tiles, first + t, from.view, x, 1, left, t);
    });
    parallel_for(to.channels / kStrip, [&](std::size_t strip, auto lanes) {
      PointMatrices right = one_strip(nullptr), sums{nullptr, left.rows, kStrip};
      right.values = scratch + left.floats() +
                     std::size_t(omp_get_thread_num()) * (right.floats() + sums.floats());
      sums.values = right.values + right.floats();
      for (std::size_t k = 0; k < from.channels; k += kDepth) {
        const std::size_t depth = std::min(kDepth, from.channels - k);
        for (std::size_t row = 0; row < depth; row += kWeightRows)
          transform_strip<lanes>(given, k + row, strip, right, row);
        for (std::size_t point = 0; point < kPoints; ++point)
          for (std::size_t c = 0; c < kStrip; c += kVectors * lanes)
            multiply<lanes>({left.at(point, 0, k), left.row_step(), 1},
                            {right.at(point, 0, c), kStrip, 1}, depth, sums, point, c, k > 0);
      }
      for (std::size_t t = 0; t < count; ++t)
        write_tile<lanes>(tiles, first + t, sums, t, to.view, strip * kStrip, y);
    });
  }
}

void Winograd::forward(const float* input, const float* weights, float* output,
                       float* scratch) const {
  convolve({input_, output_}, input, output, weights, scratch);
}

void Winograd::data_gradient(const float* output_gradient, const float* weights,
                             float* input_gradient, float* scratch) const {
  convolve({output_, input_}, output_gradient, input_gradient, weights, scratch);
}

}  // namespace rueda::cpu
