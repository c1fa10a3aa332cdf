#include "cpu/square_sums.hpp"

#include "cpu/parallel.hpp"
#include "kernels/square_sum.hpp"

namespace rueda::cpu {

void SquareSums::operator()(std::span<const float> values, std::span<const std::size_t> ends,
                            std::span<double> to) {
  std::size_t begin = 0;
  for (std::size_t k = 0; k < ends.size(); ++k) {
    to[k] = sum(cut(values, {begin, ends[k]}));
    begin = ends[k];
  }
}

double SquareSums::sum(std::span<const float> values) {
  const std::size_t length = kernels::square_piece(values.size());
  const std::size_t count = pieces(values.size(), length);
  if (pieces_.size() < count) pieces_.resize(count);
  double* sums = pieces_.data();
  const auto add_pieces = [=](Range mine) {
    for (std::size_t i = mine.begin; i < mine.end; ++i) {
      const std::span<const float> part = piece(values, length, i);
      const float* from = part.data();
      sums[i] =
          kernels::lane_sum(part.size(), [=](std::size_t k) { return kernels::square(from[k]); });
    }
  };
  parallel_ranges(count, add_pieces, kWorthThreads / length);
  return kernels::lane_sum(count, [=](std::size_t i) { return sums[i]; });
}

}  // namespace rueda::cpu
