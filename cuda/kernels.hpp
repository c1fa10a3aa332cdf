#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "rueda/kernels/pixel.hpp"
#include "rueda/kernels/sgd.hpp"
#include "rueda/kernels/softmax_loss.hpp"

/// Launchers of the single-source arithmetic of rueda/kernels. Each queues its work on `stream` and
/// returns at once, with the error of the launch; a length of 0 queues nothing. Pointers are device
/// memory, of any alignment that their type allows. Without fused multiply-add on either side the
/// results equal the host's bit for bit, but for NaN payloads and where exp and log take part.
namespace rueda::cuda {

/// into[i] = into[i] + from[i]: the ring's sum.
cudaError_t accumulate(float* into, const float* from, std::size_t count, cudaStream_t stream);

/// kernels::sgd_update on every element.
cudaError_t sgd_update(float* values, float* velocities, const float* gradients, std::size_t count,
                       const kernels::SgdStep& step, cudaStream_t stream);

/// to[i] = kernels::weighted_statistic(from[i], samples, correction).
cudaError_t weigh_statistics(float* to, const float* from, std::size_t count, float samples,
                             float correction, cudaStream_t stream);

/// running[i] = kernels::updated_running(running[i], weighted_sums[i], samples, momentum).
cudaError_t update_running(float* running, const float* weighted_sums, std::size_t count,
                           float samples, float momentum, cudaStream_t stream);

/// to[i] = kernels::relu(a[i] + b[i]).
cudaError_t relu_add(float* to, const float* a, const float* b, std::size_t count,
                     cudaStream_t stream);

/// to[i] = kernels::relu_gradient(outputs[i], gradients[i]).
cudaError_t relu_gradient(float* to, const float* outputs, const float* gradients,
                          std::size_t count, cudaStream_t stream);

/// *sum = sum over i of kernels::element_hash(i, values[i]) modulo 2^64. Whole numbers, so the
/// order in which threads add does not matter.
cudaError_t element_hash(const float* values, std::size_t count, std::uint64_t* sum,
                         cudaStream_t stream);

/// kernels::softmax_cross_entropy_row on every row of (rows, classes) logits. `gradients` has their
/// shape and may be null; `losses` has one entry a row.
cudaError_t softmax_cross_entropy(const float* logits, const std::int32_t* labels, std::size_t rows,
                                  int classes, float scale, float* gradients,
                                  kernels::RowLoss* losses, cudaStream_t stream);

/// Order of the elements of an activation.
enum class Layout { nchw, nhwc };

/// Images resident on the device, and the ones that become a batch.
struct BatchSource {
  const std::uint8_t* pixels = nullptr;    ///< (N, 3, 32, 32)
  const std::uint8_t* labels = nullptr;    ///< (N)
  const std::uint32_t* indices = nullptr;  ///< each below N
  std::size_t count = 0;                   ///< of indices
};

/// Where a batch goes.
struct BatchTarget {
  float* values = nullptr;
  std::int32_t* labels = nullptr;
  Layout layout = Layout::nchw;
  int channels = 3;  ///< stored ones, at least 3; those beyond the third are filled with zeros
};

/// kernels::input_value for every value of the batch, with the augmentation drawn for each sample.
/// cudaErrorInvalidValue if the target has fewer than 3 channels or the image no pixel.
cudaError_t make_batch(const BatchSource& source, const kernels::PixelTransform& transform,
                       std::uint64_t seed, std::uint64_t epoch, const BatchTarget& target,
                       cudaStream_t stream);

}  // namespace rueda::cuda
