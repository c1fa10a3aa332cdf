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
/// Tiles of which the weight gradient is summed at once.
constexpr std::size_t kGradientBlock = 64;
/// Channels that one call transforms the weights from.
constexpr std::size_t kWeightRows = 16;
/// The transformed weights, from `from` to `to` channels: strip after strip of columns, so that
/// what is read at once lies together.
PointMatrices weight_strips(float* values, std::size_t from, std::size_t to) {
  return {values, to / kStrip * from, kStrip, 0};
}

/// Transforms the weights from kWeightRows channels, from `row` on, to two vectors of channels,
/// from `column` on. For the data gradient (`reversed`), which goes from the outputs to the
/// inputs, the kernel lies turned around.
template <std::size_t lanes>
void transform_weights(const float* weights, std::size_t from, std::size_t inputs, bool reversed,
                       std::size_t row, std::size_t column, const PointMatrices& to) {
  constexpr std::size_t kColumns = kVectors * lanes, kPlaces = kKernel * kKernel;
  alignas(64) float block[kWeightRows][kPlaces][kColumns];
  if (reversed) {
    for (std::size_t r = 0; r < kWeightRows; ++r)
      for (std::size_t p = 0; p < kPlaces; ++p)
        for (std::size_t c = 0; c < kColumns; ++c)
          block[r][kPlaces - 1 - p][c] = weights[((row + r) * kPlaces + p) * inputs + column + c];
  } else {
    for (std::size_t c = 0; c < kColumns; ++c)
      for (std::size_t p = 0; p < kPlaces; ++p)
        for (std::size_t r = 0; r < kWeightRows; ++r)
          block[r][p][c] = weights[((column + c) * kPlaces + p) * inputs + row + r];
  }
  Vector<lanes> square[kPlaces], points[kPoints];
  for (std::size_t r = 0; r < kWeightRows; ++r)
    for (std::size_t c = 0; c < kColumns; c += lanes) {
      for (std::size_t p = 0; p < kPlaces; ++p)
        square[p] = *reinterpret_cast<const Vector<lanes>*>(&block[r][p][c]);
      transform<FromWeights>(square, points);
      to.put<lanes>(column / kStrip * from + row + r, column % kStrip + c, points);
    }
}

/// Writes the gradient of the weights of one output and one vector of inputs.
template <std::size_t lanes>
void write_gradient(const PointMatrices& from, std::size_t output, std::size_t input, float* to) {
  Vector<lanes> points[kPoints], square[kKernel * kKernel];
  from.get<lanes>(output, input, points);
  transform<ToWeightGradient>(points, square);
  for (std::size_t p = 0; p < kKernel * kKernel; ++p)
    for (std::size_t i = 0; i < lanes; ++i)
      to[(output * kKernel * kKernel + p) * from.columns + input + i] = square[p][i];
}

/// Tiles that a thread takes at once; fewer where there are not enough for all threads.
std::size_t block_of(const Tiles& tiles) {
  const std::size_t share = whole_rows(pieces(tiles.count, std::size_t(omp_get_max_threads())));
  return share <= 2 * kBlock ? share : kBlock;
}

}  // namespace

bool Winograd::reads(const ActivationView& view) {
  bool together = false;
  with_wide_vectors([&](auto lanes) { together = view.block % lanes() == 0; });
  return together;
}

Winograd::Winograd(const Shape& shape, const ActivationView& input, const ActivationView& output)
    : shape_(shape), input_{input, shape.inputs}, output_{output, shape.outputs} {}

std::size_t Winograd::scratch_bytes() const {
  const Tiles tiles(shape_);
  const std::size_t weights =
      std::max(weight_strips(nullptr, shape_.inputs, shape_.outputs).floats(),
               weight_strips(nullptr, shape_.outputs, shape_.inputs).floats());
  const auto both = [&](std::size_t rows) {
    return PointMatrices{nullptr, rows, shape_.inputs}.floats() +
           PointMatrices{nullptr, rows, shape_.outputs}.floats();
  };
  const std::size_t transposed =
      PointMatrices{nullptr, whole_rows(shape_.outputs), shape_.inputs}.floats();
  return sizeof(float) * (std::max(weights, transposed) +
                          std::max(both(kGradientBlock),
                                   std::size_t(omp_get_max_threads()) * both(block_of(tiles))));
}

void Winograd::convolve(const Side& from, const float* x, const Side& to, float* y,
                        const float* weights, float* scratch) const {
  const Tiles tiles(shape_);
  const std::size_t block = block_of(tiles);
  const bool reversed = &from == &output_;
  const PointMatrices right = weight_strips(scratch, from.channels, to.channels);
  const std::size_t strips = to.channels / kStrip;
  parallel_for(from.channels / kWeightRows * strips, [&](std::size_t i, auto lanes) {
    const std::size_t row = i / strips * kWeightRows, begin = i % strips * kStrip;
    for (std::size_t c = begin; c < begin + kStrip; c += kVectors * lanes)
      transform_weights<lanes>(weights, from.channels, shape_.inputs, reversed, row, c, right);
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
      write_tile<lanes>(tiles, first + t, sums, t, to.view, y);
  });
}

void Winograd::forward(const float* input, const float* weights, float* output,
                       float* scratch) const {
  convolve(input_, input, output_, output, weights, scratch);
}

void Winograd::data_gradient(const float* output_gradient, const float* weights,
                             float* input_gradient, float* scratch) const {
  convolve(output_, output_gradient, input_, input_gradient, weights, scratch);
}

void Winograd::weight_gradient(const float* input, const float* output_gradient,
                               float* weight_gradient, float* scratch) const {
  const Tiles tiles(shape_);
  const std::size_t inputs = shape_.inputs, outputs = shape_.outputs;
  const PointMatrices sums{scratch, whole_rows(outputs), inputs};
  const PointMatrices right{sums.values + sums.floats(), kGradientBlock, inputs};
  const PointMatrices left{right.values + right.floats(), kGradientBlock, outputs};
  const std::size_t strips = inputs / kStrip;
  for (std::size_t first = 0; first < tiles.count; first += kGradientBlock) {
    const std::size_t depth = std::min(kGradientBlock, tiles.count - first);
    parallel_for(depth, [&](std::size_t t, auto lanes) {
      transform_tile<FromInput, lanes>(tiles, first + t, input_.view, input, 1, right, t);
      transform_tile<FromOutputGradient, lanes>(tiles, first + t, output_.view, output_gradient, 0,
                                                left, t);
    });
    parallel_for(kPoints * strips, [&](std::size_t i, auto lanes) {
      const std::size_t point = i / strips, begin = i % strips * kStrip;
      const Factor factor{left.at(point, 0, 0), 1, left.row_step()};
      for (std::size_t c = begin; c < begin + kStrip; c += kVectors * lanes)
        multiply<lanes>(factor, {right.at(point, 0, c), right.row_step(), 1}, depth, sums, point, c,
                        first > 0);
    });
  }
  parallel_for(outputs, [&](std::size_t output, auto lanes) {
    for (std::size_t c = 0; c < inputs; c += lanes)
      write_gradient<lanes>(sums, output, c, weight_gradient);
  });
}

}  // namespace rueda::cpu
