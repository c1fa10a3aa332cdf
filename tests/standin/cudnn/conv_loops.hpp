#pragma once

#include "tensor.hpp"

namespace rueda::standin {

/// How the pixels of a convolution's output (p, q) and input (h, w) belong together:
/// h = p * stride - pad + r * dilation for row r of the filter.
struct ConvGeometry {
  std::array<std::int64_t, 2> stride{1, 1};
  std::array<std::int64_t, 2> pad{0, 0};
  std::array<std::int64_t, 2> pad_behind{0, 0};
  std::array<std::int64_t, 2> dilation{1, 1};
  bool flipped = false;  ///< a convolution in the strict sense, and not a correlation
};

// x is (N, C, H, W), w (K, C, R, S), y (N, K, P, Q). Sums over channels in fp32, over taps and
// pixels in double.
Dense conv_forward(const Dense& x, const Dense& w, const Dims& y, const ConvGeometry& geometry);
Dense conv_backward_data(const Dense& dy, const Dense& w, const Dims& x,
                         const ConvGeometry& geometry);
Dense conv_backward_filter(const Dense& x, const Dense& dy, const Dims& w,
                           const ConvGeometry& geometry);

}  // namespace rueda::standin
