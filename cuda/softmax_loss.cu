#include "kernels.hpp"
#include "launch.cuh"
#include "rueda/kernels/softmax_loss.hpp"

namespace rueda::cuda {
namespace {

/// One thread a row: rows are many and classes few.
struct SoftmaxRow {
  const float* logits;
  const std::int32_t* labels;
  int classes;
  float scale;
  float* gradients;
  kernels::RowLoss* losses;

  __device__ void operator()(std::size_t row) const {
    const std::size_t first = row * static_cast<std::size_t>(classes);
    losses[row] =
        kernels::softmax_cross_entropy_row(logits + first, classes, labels[row], scale,
                                           gradients == nullptr ? nullptr : gradients + first);
  }
};

}  // namespace

cudaError_t softmax_cross_entropy(const float* logits, const std::int32_t* labels, std::size_t rows,
                                  int classes, float scale, float* gradients,
                                  kernels::RowLoss* losses, cudaStream_t stream) {
  return for_each(rows, SoftmaxRow{logits, labels, classes, scale, gradients, losses}, stream);
}

}  // namespace rueda::cuda
