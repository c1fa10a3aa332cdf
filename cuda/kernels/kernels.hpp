#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <typeinfo>
#include <vector>

#include <cuda_runtime_api.h>

#include "base/bfloat16.hpp"
#include "base/element_hash.hpp"
#include "kernels/lars.hpp"
#include "kernels/pixel.hpp"
#include "kernels/row_windows.hpp"
#include "kernels/sgd.hpp"
#include "kernels/softmax_loss.hpp"
#include "rueda/backend/lars_slice.hpp"

/// Launchers of the single-source arithmetic of rueda/kernels. Each queues its
/// work on `stream` and returns at once. A length of 0, be it of elements, rows,
/// classes, channels, images or pixels, queues nothing; but single totals are
/// written, of nothing too: element_hash and what is like it, square_sums,
/// write_part_squares, sum_losses, write_step_sums. Throws RunError where a launch fails. Pointers
/// are device memory, of any alignment that their type allows. Without fused multiply-add on either
/// side the results equal the host's bit for bit, but for NaN payloads and where exp and log take
/// part.

namespace rueda::cuda {

/// Throws the RunError that belongs to a failed launch. The type is that of the
/// kernel or of its body.
[[noreturn]] void throw_launch_error(cudaError_t code, const std::type_info& kernel);

/// Whether own kernels, like this one, may begin before the kernel before them has ended: where
/// they are compiled to wait for it (compute capability 9.0), by a driver that records it into
/// graphs, and unless RUEDA_CUDA_PDL=off. Throws InputError where that is neither "on" nor "off".
bool begins_early(const void* kernel);

/// What an activation's numbers are kept in.
enum class Element { fp32, bf16 };

inline std::size_t bytes_of(Element element) { return element == Element::bf16 ? 2 : 4; }

// Of a launch that sums over rows: tiles of channels, and sums of all blocks.
inline constexpr unsigned kMostTiles = 1024;
inline constexpr std::size_t kMostSums = std::size_t{64} * kMostTiles;

/// Device memory that sums over rows take, and all on one stream share.
struct SumScratch {
  unsigned arrived[kMostTiles];  ///< zeros, which the kernels leave zeros
  float partial[kMostSums];
};

/// into[i] = into[i] + from[i]: the ring's sum.
void accumulate(float* into, const float* from, std::size_t count, cudaStream_t stream);

/// to[k][i] = the sum of all from[r][i] in the order of TreeOrder: of up to
/// kMostSummed arrays, into no more than there are, in the memory of any GPU that
/// this one reaches. A target may be one of the sources.
void peer_sum(std::span<const float* const> from, std::span<float* const> to, std::size_t count,
              cudaStream_t stream);

/// to[i] = from[i] rounded.
void to_bf16(kernels::Bfloat16* to, const float* from, std::size_t count, cudaStream_t stream);
/// into[i] = into[i] + from[i].
void add_bf16(float* into, const kernels::Bfloat16* from, std::size_t count, cudaStream_t stream);
/// to[i] = from[i].
void to_fp32(float* to, const kernels::Bfloat16* from, std::size_t count, cudaStream_t stream);

/// Neighbouring elements of an array.
struct Slice {
  std::size_t begin;
  std::size_t count;
};
/// The same for slices of both arrays, in one launch where they are not hundreds.
void to_fp32(float* to, const kernels::Bfloat16* from, std::span<const Slice> slices,
             cudaStream_t stream);

/// Gradients that a product left in bf16: those of `slices`, which ascend and do not meet.
/// `values` begins where an array of all gradients would.
struct NarrowGradients {
  const kernels::Bfloat16* values = nullptr;
  std::vector<Slice> slices;
};
/// kernels::sgd_update on every element. Of the slices of `narrow`, `gradients` is not read.
/// `packed`, unless null, gets the new values, rounded. In one launch where slices are not
/// hundreds.
void sgd_update(float* values, float* velocities, const float* gradients,
                const NarrowGradients& narrow, kernels::Bfloat16* packed, std::size_t count,
                const kernels::SgdStep& step, cudaStream_t stream);

/// The same by the kernels::lars_step of each element's tensor, all gradients being fp32.
void lars_update(const LarsSlice& slice, kernels::Bfloat16* packed, const kernels::LarsStep& step,
                 cudaStream_t stream);

/// to[i] = kernels::weighted_statistic(from[i], samples, bessel(samples * values_per_image[i])).
void weigh_statistics(float* to, const float* from, const float* values_per_image,
                      std::size_t count, float samples, cudaStream_t stream);

/// running[i] = kernels::updated_running(running[i], weighted_sums[i], samples, momentum).
void update_running(float* running, const float* weighted_sums, std::size_t count, float samples,
                    float momentum, cudaStream_t stream);

/// *sum = sum over i of kernels::element_hash(i, values[i]) modulo 2^64. Whole numbers, so the
/// order in which threads add does not matter.
void element_hash(const float* values, std::size_t count, std::uint64_t* sum, cudaStream_t stream);

/// The same of kernels::message_check: the check sum of a message.
void message_check(const float* values, std::size_t count, std::uint64_t* sum, cudaStream_t stream);

/// The same of kernels::nonfinite: how many are NaN or infinite.
void nonfinite(const float* values, std::size_t count, std::uint64_t* sum, cudaStream_t stream);

/// to[k] = the sum of the squares of values[i] for i from ends[k - 1], or 0, up to ends[k], in
/// double and in the order of kernels/square_sum.hpp. `ends` are the host's and ascend.
void square_sums(const float* values, std::span<const std::size_t> ends, double* to,
                 SumScratch* scratch, cudaStream_t stream);

/// to[5] = kernels::part_squares(sum of `squares` in this order, images) and to[6] = 1: what is NaN
/// or infinite makes to[3] and flags[0] 1.
void write_part_squares(float* to, std::span<const double> squares, float images, float* flags,
                        cudaStream_t stream);

/// kernels::softmax_cross_entropy_row on every row of (rows, classes) logits.
/// `gradients` has their shape and may be null, then `scale`, one number, may
/// be too; `losses` has one entry a row.
void softmax_cross_entropy(const float* logits, const std::int32_t* labels, std::size_t rows,
                           int classes, float smoothing, const float* scale, float* gradients,
                           kernels::RowLoss* losses, cudaStream_t stream);

/// sums[0] = sum of the losses, sums[1] = number of correct rows, in a fixed order.
void sum_losses(const kernels::RowLoss* losses, std::size_t rows, float* sums, cudaStream_t stream);

/// to[0 ... 6] = loss, correct (of `sums`), samples, nonfinite, flags[1], 0, 0:
/// nonfinite is 1 if the loss or one of `count` statistics is NaN or infinite,
/// and then flags[0] becomes 1 as well.
void write_step_sums(float* to, const float* sums, const float* statistics, std::size_t count,
                     float samples, float* flags, SumScratch* scratch, cudaStream_t stream);

/// counts[slot] += 1, and seen[slot] = counts[slot]: in memory of the host, which sees it once all
/// work before is done. The device only writes there.
void count_up(std::uint64_t* counts, std::uint64_t* seen, std::size_t slot, cudaStream_t stream);

/// Images resident on the device, and the ones that become a batch.
struct BatchSource {
  const std::uint8_t* pixels = nullptr;    ///< (N, 3, 32, 32)
  const std::uint8_t* labels = nullptr;    ///< (N)
  const std::uint32_t* indices = nullptr;  ///< each below N
  std::size_t count = 0;                   ///< of indices
};

/// Where a batch goes.
struct BatchTarget {
  void* values = nullptr;  ///< (count, height, width, 3)
  Element element = Element::fp32;
  std::int32_t* labels = nullptr;
};

/// kernels::input_value for every value of the batch, with the augmentation
/// drawn for each sample. An error if the image has no pixel.
void make_batch(const BatchSource& source, const kernels::PixelTransform& transform,
                std::uint64_t seed, std::uint64_t epoch, const BatchTarget& target,
                cudaStream_t stream);

// Work on activations: channels innermost, fp32 or bf16, arithmetic in fp32.
// Null pointers are allowed where that is said. `void*` are activations of the
// element type.

// Flat loops over all elements, whatever their shape.

/// to = a + b, then ReLU if `relu`.
void add_activations(Element element, void* to, const void* a, const void* b, std::size_t count,
                     bool relu, cudaStream_t stream);
/// to = gradient (+ other, unless null) where output > 0, else 0.
void mask_gradient(Element element, void* to, const void* output, const void* gradient,
                   const void* other, std::size_t count, cudaStream_t stream);

// Matrices of `rows` times `channels` numbers: every activation is one, with a row per pixel.

/// A batch norm's work. The statistics arena has means, then biased variances.
struct NormWork {
  Element element = Element::fp32;
  std::size_t rows = 0;
  int channels = 0;
  const void* x = nullptr;
  const float* gamma = nullptr;
  const float* beta = nullptr;
  float epsilon = 0;
  float* statistics = nullptr;
  bool relu = false;
  const void* residual = nullptr;  ///< added before the ReLU; null: nothing
  void* y = nullptr;
  SumScratch* scratch = nullptr;
};

struct NormGradient {
  const void* dy = nullptr;
  const void* dy_other = nullptr;  ///< added to dy; null: nothing
  const void* addend = nullptr;    ///< added to dx; null: nothing
  void* dx = nullptr;
  void* residual_gradient = nullptr;  ///< where the work has a residual
  float* dgamma = nullptr;
  float* dbeta = nullptr;
  /// Get the sums over the rows of dx, as it is stored; null: not wanted.
  float* input_sums[2] = {};
};

/// Mean and biased variance of each channel into the statistics. Sums are taken
/// of differences to the channel's first value, so that a large mean costs no
/// digits, in a fixed order.
void norm_statistics(const NormWork& work, cudaStream_t stream);
/// The same from the plain sums of each channel and of its squares, which lie
/// in place of the statistics. Nothing else of the work is read.
void norm_finish_sums(const NormWork& work, cudaStream_t stream);
/// y from x and the statistics.
void norm_apply(const NormWork& work, cudaStream_t stream);
/// dgamma and dbeta. With a residual the mask is y's and dy + dy_other goes,
/// masked, to residual_gradient; without one it is recomputed from x, and y is
/// not read.
void norm_gradient_sums(const NormWork& work, const NormGradient& gradient, cudaStream_t stream);
/// dx, from dgamma and dbeta. With a residual, residual_gradient is read in
/// place of dy and dy_other.
void norm_input_gradient(const NormWork& work, const NormGradient& gradient, cudaStream_t stream);

/// sums[c] = sum over rows of from[row][c], in a fixed order: a bias gradient.
void column_sums(Element element, float* sums, const void* from, std::size_t rows, int channels,
                 SumScratch* scratch, cudaStream_t stream);

/// y = x (+ bias, unless null) (+ residual, unless null); in place allowed. For
/// convolutions whose epilogue cuDNN does not fuse.
void add_bias(Element element, void* y, const void* x, const float* bias, const void* residual,
              std::size_t rows, int channels, cudaStream_t stream);

/// y = x w^T + bias with x (rows, inputs) and w (units, inputs), all fp32, by sums in a fixed
/// order.
void dense_forward(float* y, const float* x, const float* w, const float* bias, std::size_t rows,
                   int inputs, int units, cudaStream_t stream);

/// to[row][c] = from[row][c] for c below `channels`, zeros up to `to_channels`, fp32 to `element`.
void pad_channels(Element element, void* to, const float* from, std::size_t rows, int channels,
                  int to_channels, cudaStream_t stream);
/// The first `channels` of each row of `from_channels`, to fp32.
void drop_channels(Element element, float* to, const void* from, std::size_t rows,
                   int from_channels, int channels, cudaStream_t stream);

// Images.

struct ImageShape {
  int images = 0;
  int channels = 0;
  int height = 0;
  int width = 0;
};

/// The windows of each of `rows` rows, (rows, count, stored). `to` is aligned to 16 bytes, or it
/// is an error.
void unroll_rows(Element element, void* to, const void* from, std::size_t rows,
                 const kernels::RowWindows& windows, cudaStream_t stream);

/// What reads windows of an image, or all of it.
struct PoolWork {
  Element element = Element::fp32;
  ImageShape in;
  ImageShape out;
  int kernel = 1;
  int stride = 1;
  int padding = 0;
  bool zeros = false;  ///< the padding holds zeros that may win
};

/// `winners`, unless null, receives the place in the window of each output's
/// winner; kernels have at most 15 by 15 places.
void max_pool(const PoolWork& work, void* y, const void* x, std::uint8_t* winners,
              cudaStream_t stream);
void max_pool_backward(const PoolWork& work, void* dx, const void* dy, const std::uint8_t* winners,
                       cudaStream_t stream);

/// Every `stride`-th pixel, `before` zero channels before the input's own; and backward.
void pad_shortcut(const PoolWork& work, void* y, const void* x, cudaStream_t stream);
void pad_shortcut_backward(const PoolWork& work, void* dx, const void* dy, cudaStream_t stream);

/// fp32 means over the pixels of each channel, and backward.
void global_average_pool(const PoolWork& work, float* y, const void* x, cudaStream_t stream);
void global_average_pool_backward(const PoolWork& work, void* dx, const float* dy,
                                  cudaStream_t stream);

}  // namespace rueda::cuda
