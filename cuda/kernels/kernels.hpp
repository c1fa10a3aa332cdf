#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "rueda/kernels/pixel.hpp"
#include "rueda/kernels/sgd.hpp"
#include "rueda/kernels/softmax_loss.hpp"
#include "rueda/kernels/wire.hpp"

/// Launchers of the single-source arithmetic of rueda/kernels. Each queues its work on `stream` and
/// returns at once, with the error of the launch; a length of 0 queues nothing. Pointers are device
/// memory, of any alignment that their type allows. Without fused multiply-add on either side the
/// results equal the host's bit for bit, but for NaN payloads and where exp and log take part.

namespace rueda::cuda {

/// What an activation's numbers are kept in.
enum class Element { fp32, bf16 };

inline std::size_t bytes_of(Element element) { return element == Element::bf16 ? 2 : 4; }

/// into[i] = into[i] + from[i]: the ring's sum.
cudaError_t accumulate(float* into, const float* from, std::size_t count, cudaStream_t stream);

/// For a wire of bf16. to[i] = from[i] rounded; if `lost` is not null, by
/// kernels::narrow_with_feedback.
cudaError_t narrow_wire(kernels::Bfloat16* to, const float* from, float* lost, std::size_t count,
                        cudaStream_t stream);
/// into[i] = into[i] + from[i].
cudaError_t add_wire(float* into, const kernels::Bfloat16* from, std::size_t count,
                     cudaStream_t stream);
/// to[i] = from[i].
cudaError_t widen_wire(float* to, const kernels::Bfloat16* from, std::size_t count,
                       cudaStream_t stream);

/// kernels::sgd_update on every element.
cudaError_t sgd_update(float* values, float* velocities, const float* gradients, std::size_t count,
                       const kernels::SgdStep& step, cudaStream_t stream);

/// to[i] = kernels::weighted_statistic(from[i], samples, bessel(samples * values_per_image[i])).
cudaError_t weigh_statistics(float* to, const float* from, const float* values_per_image,
                             std::size_t count, float samples, cudaStream_t stream);

/// running[i] = kernels::updated_running(running[i], weighted_sums[i], samples, momentum).
cudaError_t update_running(float* running, const float* weighted_sums, std::size_t count,
                           float samples, float momentum, cudaStream_t stream);

/// *sum = sum over i of kernels::element_hash(i, values[i]) modulo 2^64. Whole numbers, so the
/// order in which threads add does not matter.
cudaError_t element_hash(const float* values, std::size_t count, std::uint64_t* sum,
                         cudaStream_t stream);

/// The same of kernels::message_check: the check sum of a message.
cudaError_t message_check(const float* values, std::size_t count, std::uint64_t* sum,
                          cudaStream_t stream);

/// kernels::softmax_cross_entropy_row on every row of (rows, classes) logits. `gradients` has their
/// shape and may be null, then `scale`, one number, may be too; `losses` has one entry a row.
cudaError_t softmax_cross_entropy(const float* logits, const std::int32_t* labels, std::size_t rows,
                                  int classes, const float* scale, float* gradients,
                                  kernels::RowLoss* losses, cudaStream_t stream);

/// sums[0] = sum of the losses, sums[1] = number of correct rows, in a fixed order.
cudaError_t sum_losses(const kernels::RowLoss* losses, std::size_t rows, float* sums,
                       cudaStream_t stream);

/// to[0 ... 4] = loss, correct (of `sums`), samples, nonfinite, flags[1]: nonfinite is 1 if the
/// loss or one of `count` statistics is NaN or infinite, and then flags[0] becomes 1 as well.
cudaError_t write_step_sums(float* to, const float* sums, const float* statistics,
                            std::size_t count, float samples, float* flags, cudaStream_t stream);

/// counters[slot] += 1, seen by the host once all work before it is done.
cudaError_t count_up(std::uint64_t* counters, std::size_t slot, cudaStream_t stream);

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
  void* values = nullptr;
  Element element = Element::fp32;
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
