#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "kernels.hpp"

/// Launchers of work on activations: channels innermost, fp32 or bf16, arithmetic in fp32. As in
/// kernels.hpp each queues its work and returns the error of the launch; null pointers are allowed
/// where that is said. `void*` are activations of the element type.
namespace rueda::cuda {

// Flat loops over all elements, whatever their shape.

/// to = a + b, then ReLU if `relu`.
cudaError_t add_activations(Element element, void* to, const void* a, const void* b,
                            std::size_t count, bool relu, cudaStream_t stream);
/// to = gradient (+ other, unless null) where output > 0, else 0.
cudaError_t mask_gradient(Element element, void* to, const void* output, const void* gradient,
                          const void* other, std::size_t count, cudaStream_t stream);
cudaError_t to_bf16(void* to, const float* from, std::size_t count, cudaStream_t stream);
cudaError_t to_fp32(Element element, float* to, const void* from, std::size_t count,
                    cudaStream_t stream);

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
  float* partial = nullptr;  ///< norm_partial_floats(rows, channels) of scratch memory
};

struct NormGradient {
  const void* dy = nullptr;
  const void* dy_other = nullptr;  ///< added to dy; null: nothing
  const void* addend = nullptr;    ///< added to dx; null: nothing
  void* dx = nullptr;
  void* residual_gradient = nullptr;  ///< where the work has a residual
  float* dgamma = nullptr;
  float* dbeta = nullptr;
};

std::size_t norm_partial_floats(std::size_t rows, int channels);
/// Mean and biased variance of each channel into the statistics. Sums are taken of differences to
/// the channel's first value, so that a large mean costs no digits, in a fixed order.
cudaError_t norm_statistics(const NormWork& work, cudaStream_t stream);
/// y from x and the statistics.
cudaError_t norm_apply(const NormWork& work, cudaStream_t stream);
/// All of backward. With a residual the mask is y's and dy + dy_other goes, masked, to
/// residual_gradient; without one it is recomputed from x, and y is not read.
cudaError_t norm_backward(const NormWork& work, const NormGradient& gradient, cudaStream_t stream);

/// sums[c] = sum over rows of from[row][c], in a fixed order: a bias gradient.
cudaError_t column_sums(Element element, float* sums, const void* from, std::size_t rows,
                        int channels, float* partial, cudaStream_t stream);

/// y = x (+ bias, unless null) (+ residual, unless null); in place allowed. For convolutions whose
/// epilogue cuDNN does not fuse.
cudaError_t add_bias(Element element, void* y, const void* x, const float* bias,
                     const void* residual, std::size_t rows, int channels, cudaStream_t stream);

/// to[row][c] = from[row][c] for c below `channels`, zeros up to `to_channels`, fp32 to `element`.
cudaError_t pad_channels(Element element, void* to, const float* from, std::size_t rows,
                         int channels, int to_channels, cudaStream_t stream);
/// The first `channels` of each row of `from_channels`, to fp32.
cudaError_t drop_channels(Element element, float* to, const void* from, std::size_t rows,
                          int from_channels, int channels, cudaStream_t stream);

// Images.

struct ImageShape {
  int images = 0;
  int channels = 0;
  int height = 0;
  int width = 0;
};

/// A plain fp32 (N, C, H, W) tensor into an activation of `stored` >= C channels, and back.
cudaError_t from_plain(Element element, void* to, const float* from, const ImageShape& shape,
                       int stored, cudaStream_t stream);
cudaError_t to_plain(Element element, float* to, const void* from, const ImageShape& shape,
                     int stored, cudaStream_t stream);

struct PoolWork {
  Element element = Element::fp32;
  ImageShape in;
  ImageShape out;
  int kernel = 1;
  int stride = 1;
  int padding = 0;
  bool zeros = false;  ///< the padding holds zeros that may win
};

/// `winners`, unless null, receives the place in the window of each output's winner; kernels have
/// at most 15 by 15 places.
cudaError_t max_pool(const PoolWork& work, void* y, const void* x, std::uint8_t* winners,
                     cudaStream_t stream);
cudaError_t max_pool_backward(const PoolWork& work, void* dx, const void* dy,
                              const std::uint8_t* winners, cudaStream_t stream);

/// Every `stride`-th pixel, `before` zero channels before the input's own; and backward.
cudaError_t pad_shortcut(Element element, void* y, const void* x, const ImageShape& in,
                         const ImageShape& out, int stride, cudaStream_t stream);
cudaError_t pad_shortcut_backward(Element element, void* dx, const void* dy, const ImageShape& in,
                                  const ImageShape& out, int stride, cudaStream_t stream);

/// fp32 means over the pixels of each channel, and backward.
cudaError_t global_average_pool(Element element, float* y, const void* x, const ImageShape& in,
                                cudaStream_t stream);
cudaError_t global_average_pool_backward(Element element, void* dx, const float* dy,
                                         const ImageShape& in, cudaStream_t stream);

}  // namespace rueda::cuda
