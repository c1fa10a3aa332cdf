#include <algorithm>

#include <omp.h>

#include "cpu/parallel.hpp"
#include "cpu/winograd.hpp"
#include "cpu/winograd_tiles.hpp"

namespace rueda::cpu {
namespace {

using namespace winograd;

/// Tiles of which the gradient is summed at once.
constexpr std::size_t kBlock = 64;
/// Outputs of which a thread has all sums with a strip of inputs: they stay in its cache.
constexpr std::size_t kOutputs = 8 * kRows;

/// For each thread, or for all.
PointMatrices thread_sums(float* values) { return {values, kOutputs, kStrip}; }
PointMatrices all_sums(const Winograd::Shape& s, float* values) {
  return {values, whole_rows(s.outputs), s.inputs};
}

/// Writes the gradient of the weights from `columns` of `inputs` channels, from `input` on, to one
/// output. Its products are a row of `from`.
template <std::size_t lanes>
void write_gradient(const PointMatrices& from, std::size_t row, std::size_t inputs,
                    std::size_t input, std::size_t output, float* to) {
  Vector<lanes> points[kPoints], square[kKernel * kKernel];
  for (std::size_t c = 0; c < from.columns; c += lanes) {
    from.get<lanes>(row, c, points);
    transform<ToWeightGradient>(points, square);
    for (std::size_t p = 0; p < kKernel * kKernel; ++p)
      for (std::size_t i = 0; i < lanes; ++i)
        to[(output * kKernel * kKernel + p) * inputs + input + c + i] = square[p][i];
  }
}

/// Some tiles: their transformed patches of inputs, and output gradients.
struct Block {
  PointMatrices patches, gradients;

  Block(const Winograd::Shape& s, float* scratch)
      : patches{scratch, std::min(kBlock, s.tiles()), s.inputs},
        gradients{scratch + patches.floats(), patches.rows, s.outputs} {}

  std::size_t floats() const { return patches.floats() + gradients.floats(); }
  /// to (+)= the outputs from `row` on x two vectors of inputs from `column` on, over `depth`
  /// tiles.
  template <std::size_t lanes>
  void sum(std::size_t depth, std::size_t point, std::size_t row, std::size_t column,
           const PointMatrices& to, std::size_t to_column, bool adds) const {
    multiply<lanes>({gradients.at(point, 0, row), 1, gradients.row_step()},
                    {patches.at(point, 0, column), patches.row_step(), 1}, depth, to, point,
                    to_column, adds);
  }
};

/// A part of the sums for each thread, in place of all of them.
bool fits_one_block(const Winograd::Shape& s) { return s.tiles() <= kBlock; }

/// Of all tiles at once. The sums, which are four times as large as the gradient, never lie in
/// memory.
void sum_one_block(const Winograd::Shape& s, const Block& block, float* scratch, float* to) {
  const std::size_t strips = s.inputs / kStrip;
  parallel_for(pieces(s.outputs, kOutputs) * strips, [&](std::size_t i, auto lanes) {
    const std::size_t first = i / strips * kOutputs, column = i % strips * kStrip;
    const std::size_t outputs = std::min(kOutputs, s.outputs - first);
    PointMatrices sums{scratch, whole_rows(outputs), kStrip};
    sums.values += std::size_t(omp_get_thread_num()) * thread_sums(nullptr).floats();
    for (std::size_t point = 0; point < kPoints; ++point)
      for (std::size_t c = 0; c < kStrip; c += kVectors * lanes)
        block.sum<lanes>(s.tiles(), point, first, column + c, sums, c, false);
    for (std::size_t row = 0; row < outputs; ++row)
      write_gradient<lanes>(sums, row, s.inputs, column, first + row, to);
  });
}

/// Adds those of a block, from tile `first` on, to all sums.
void add_block(const Winograd::Shape& s, const Block& block, std::size_t first, std::size_t depth,
               const PointMatrices& sums) {
  const std::size_t strips = s.inputs / kStrip;
  parallel_for(kPoints * strips, [&](std::size_t i, auto lanes) {
    const std::size_t point = i / strips, begin = i % strips * kStrip;
    for (std::size_t c = begin; c < begin + kStrip; c += kVectors * lanes)
      block.sum<lanes>(depth, point, 0, c, sums, c, first > 0);
  });
}

}  // namespace

std::size_t Winograd::gradient_scratch_floats() const {
  const std::size_t sums = fits_one_block(shape_)
                               ? std::size_t(omp_get_max_threads()) * thread_sums(nullptr).floats()
                               : all_sums(shape_, nullptr).floats();
  return Block(shape_, nullptr).floats() + sums;
}

void Winograd::weight_gradient(const float* input, const float* output_gradient,
                               float* weight_gradient, float* scratch) const {
  const Tiles tiles(shape_);
  const Block block(shape_, scratch);
  const PointMatrices sums = all_sums(shape_, scratch + block.floats());
  for (std::size_t first = 0; first < tiles.count; first += kBlock) {
    const std::size_t depth = std::min(kBlock, tiles.count - first);
    parallel_for(depth, [&](std::size_t t, auto lanes) {
      transform_tile<FromInput, lanes>(tiles, first + t, input_.view, input, 1, block.patches, t);
      transform_tile<FromOutputGradient, lanes>(tiles, first + t, output_.view, output_gradient, 0,
                                                block.gradients, t);
    });
    if (fits_one_block(shape_)) return sum_one_block(shape_, block, sums.values, weight_gradient);
    add_block(shape_, block, first, depth, sums);
  }
  parallel_for(shape_.outputs, [&](std::size_t output, auto lanes) {
    write_gradient<lanes>(sums, output, shape_.inputs, 0, output, weight_gradient);
  });
}

}  // namespace rueda::cpu
