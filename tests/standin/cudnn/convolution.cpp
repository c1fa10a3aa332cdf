#include <algorithm>

#include "graph.hpp"

// Wider vectors where the processor has them; every element is summed in the same order with each.
#if defined(__x86_64__)
#define RUEDA_WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define RUEDA_WIDEST
#endif

namespace rueda::standin {
namespace {

/// How the pixels of a convolution's output (p, q) and input (h, w) belong together:
/// h = p * stride - pad + r * dilation for row r of the filter.
struct ConvGeometry {
  using Pair = std::array<std::int64_t, 2>;
  Pair stride, pad, pad_after, dilation;
};

struct Conv {
  TensorSpec w, x, y;
  ConvGeometry geometry;
};

struct Taps {
  std::int64_t rows;
  std::int64_t columns;
};

/// Input coordinate for an output coordinate and a tap; may lie outside.
std::int64_t input_at(const ConvGeometry& g, std::size_t axis, std::int64_t output,
                      std::int64_t tap) {
  return output * g.stride[axis] - g.pad[axis] + tap * g.dilation[axis];
}

/// Output coordinate that reads `input` through a tap; -1 if none does; may lie outside.
std::int64_t output_at(const ConvGeometry& g, std::size_t axis, std::int64_t input,
                       std::int64_t tap) {
  const std::int64_t distance = input + g.pad[axis] - tap * g.dilation[axis];
  return distance < 0 || distance % g.stride[axis] != 0 ? -1 : distance / g.stride[axis];
}

/// sums[o] += sum over i of from[i] * weights[i][o].
RUEDA_WIDEST void add_products(const float* from, std::int64_t inputs, const float* weights,
                               std::int64_t outputs, float* sums) {
  for (std::int64_t i = 0; i < inputs; ++i) {
    const float factor = from[i];
    const float* row = weights + i * outputs;
    for (std::int64_t o = 0; o < outputs; ++o) sums[o] += factor * row[o];
  }
}

/// One pixel's sums of one tap, added to those of all taps.
class PixelSums {
 public:
  explicit PixelSums(std::int64_t count) : tap_(std::size_t(count)), all_(std::size_t(count)) {}

  void begin() { std::fill(all_.begin(), all_.end(), 0.0); }
  void add(const float* from, std::int64_t inputs, const float* weights) {
    std::fill(tap_.begin(), tap_.end(), 0.0F);
    add_products(from, inputs, weights, std::int64_t(tap_.size()), tap_.data());
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i] += double(tap_[i]);
  }
  void write(float* to) const {
    std::transform(all_.begin(), all_.end(), to, [](double v) { return float(v); });
  }

 private:
  std::vector<float> tap_;
  std::vector<double> all_;
};

/// Weights by tap, each a matrix (inputs, outputs) in the direction in which it is used.
std::vector<float> by_tap(const Dense& w, bool backward) {
  const auto [outputs, inputs, rows, columns] = w.dims;
  std::vector<float> result;
  result.reserve(w.values.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t s = 0; s < columns; ++s) {
      for (std::int64_t i = 0; i < (backward ? outputs : inputs); ++i) {
        for (std::int64_t o = 0; o < (backward ? inputs : outputs); ++o)
          result.push_back(w.values[backward ? w.at(i, o, r, s) : w.at(o, i, r, s)]);
      }
    }
  }
  return result;
}

/// Fills every pixel of `to` from the pixels of `from` that `source(axis, coordinate, tap)` names;
/// -1 and what lies outside add nothing.
template <typename Source>
void gather(const Dense& from, const std::vector<float>& weights, const Taps& taps,
            const Source& source, Dense& to) {
  PixelSums sums(to.dims[1]);
  const std::int64_t matrix = from.dims[1] * to.dims[1];
  const auto add_taps = [&](std::int64_t n, std::int64_t y, std::int64_t x) {
    for (std::int64_t r = 0; r < taps.rows; ++r) {
      const std::int64_t row = source(0, y, r);
      if (row < 0 || row >= from.dims[2]) continue;
      for (std::int64_t s = 0; s < taps.columns; ++s) {
        const std::int64_t column = source(1, x, s);
        if (column < 0 || column >= from.dims[3]) continue;
        sums.add(from.pixel(n, row, column), from.dims[1],
                 &weights[std::size_t((r * taps.columns + s) * matrix)]);
      }
    }
  };
  for (std::int64_t n = 0; n < to.dims[0]; ++n) {
    for (std::int64_t y = 0; y < to.dims[2]; ++y) {
      for (std::int64_t x = 0; x < to.dims[3]; ++x) {
        sums.begin();
        add_taps(n, y, x);
        sums.write(to.pixel(n, y, x));
      }
    }
  }
}

/// sums[k][c] += dy[k] * x[c].
RUEDA_WIDEST void add_outer(const float* dy, std::int64_t outputs, const float* x,
                            std::int64_t inputs, float* sums) {
  for (std::int64_t k = 0; k < outputs; ++k) {
    const float factor = dy[k];
    float* row = sums + k * inputs;
    for (std::int64_t c = 0; c < inputs; ++c) row[c] += factor * x[c];
  }
}

/// The part of one image in the gradient of tap (r, s): a matrix (outputs, inputs).
void add_image(const Dense& x, const Dense& dy, const ConvGeometry& g, std::int64_t n,
               std::int64_t r, std::int64_t s, std::vector<float>& sums) {
  for (std::int64_t p = 0; p < dy.dims[2]; ++p) {
    const std::int64_t h = input_at(g, 0, p, r);
    if (h < 0 || h >= x.dims[2]) continue;
    for (std::int64_t q = 0; q < dy.dims[3]; ++q) {
      const std::int64_t w = input_at(g, 1, q, s);
      if (w < 0 || w >= x.dims[3]) continue;
      add_outer(dy.pixel(n, p, q), dy.dims[1], x.pixel(n, h, w), x.dims[1], sums.data());
    }
  }
}

std::vector<double> tap_gradient(const Dense& x, const Dense& dy, const ConvGeometry& g,
                                 std::int64_t r, std::int64_t s) {
  const auto size = std::size_t(dy.dims[1] * x.dims[1]);
  std::vector<double> all(size);
  std::vector<float> image(size);
  for (std::int64_t n = 0; n < x.dims[0]; ++n) {
    std::fill(image.begin(), image.end(), 0.0F);
    add_image(x, dy, g, n, r, s, image);
    for (std::size_t i = 0; i < size; ++i) all[i] += double(image[i]);
  }
  return all;
}

/// y of x (N, C, H, W) and w (K, C, R, S), or with `backward` x of y (N, K, P, Q) and w. Sums over
/// channels in fp32, over taps and pixels in double.
Dense convolved(const Dense& from, const Dense& w, const Dims& to, const ConvGeometry& g,
                bool backward) {
  Dense result(to);
  const auto source = [&](std::size_t axis, std::int64_t at, std::int64_t tap) {
    return backward ? output_at(g, axis, at, tap) : input_at(g, axis, at, tap);
  };
  gather(from, by_tap(w, backward), {w.dims[2], w.dims[3]}, source, result);
  return result;
}

Dense weight_gradient(const Dense& x, const Dense& dy, const Dims& w, const ConvGeometry& g) {
  Dense result(w);
  for (std::int64_t r = 0; r < w[2]; ++r) {
    for (std::int64_t s = 0; s < w[3]; ++s) {
      const auto gradient = tap_gradient(x, dy, g, r, s);
      for (std::int64_t k = 0; k < w[0]; ++k) {
        for (std::int64_t c = 0; c < w[1]; ++c)
          result.values[result.at(k, c, r, s)] = float(gradient[std::size_t(k * w[1] + c)]);
      }
    }
  }
  return result;
}

ConvGeometry geometry_of(const Descriptor& conv) {
  const auto pair = [&](cudnnBackendAttributeName_t name) -> ConvGeometry::Pair {
    const auto values = conv.all<std::int64_t>(name);
    require(values.size() == 2, "CONVOLUTION: two spatial dimensions are needed",
            CUDNN_STATUS_NOT_SUPPORTED);
    return {values[0], values[1]};
  };
  require(
      conv.one<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) == CUDNN_CROSS_CORRELATION,
      "the stand-in knows cross correlations only", CUDNN_STATUS_NOT_SUPPORTED);
  return {pair(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES), pair(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
          pair(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS), pair(CUDNN_ATTR_CONVOLUTION_DILATIONS)};
}

void check_shapes(const Conv& conv) {
  bool fit = conv.x.dims[0] == conv.y.dims[0] && conv.w.dims[0] == conv.y.dims[1];
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const ConvGeometry& g = conv.geometry;
    const std::int64_t window = (conv.w.dims[2 + axis] - 1) * g.dilation[axis] + 1;
    const std::int64_t room = conv.x.dims[2 + axis] + g.pad[axis] + g.pad_after[axis] - window;
    if (room < 0 || conv.y.dims[2 + axis] != room / g.stride[axis] + 1) fit = false;
  }
  require(fit, "the shapes of a convolution do not fit");
  require(conv.x.dims[1] == conv.w.dims[1], "the stand-in knows no grouped convolution",
          CUDNN_STATUS_NOT_SUPPORTED);
}

Conv conv_of(const Descriptor& operation) {
  const auto* found = std::ranges::find(kConvDirections, operation.type, &ConvDirection::type);
  require(found != std::end(kConvDirections),
          name_of(operation.type) + " is no operation that the stand-in knows",
          CUDNN_STATUS_NOT_SUPPORTED);
  const ConvDirection& d = *found;
  Conv conv{tensor_at(operation, d.w), tensor_at(operation, d.x), tensor_at(operation, d.y),
            geometry_of(*operation.child(d.conv, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR))};
  check_shapes(conv);
  require(operation.one<float>(d.alpha) == 1 && operation.one<float>(d.beta) == 0,
          "the stand-in does not scale what a convolution gives", CUDNN_STATUS_NOT_SUPPORTED);
  return conv;
}

}  // namespace

Operation make_convolution(const Descriptor& descriptor) {
  const Conv c = conv_of(descriptor);
  const std::string name = name_of(descriptor.type);
  double flops = 2.0 * double(c.w.dims[1] * c.w.dims[2] * c.w.dims[3]);
  for (const std::int64_t extent : c.y.dims) flops *= double(extent);
  switch (descriptor.type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return {name,
              {c.x, c.w},
              {c.y},
              [c](Bindings& b) {
                b.put(c.y, convolved(b.get(c.x), b.get(c.w), c.y.dims, c.geometry, false));
              },
              flops};
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return {name,
              {c.y, c.w},
              {c.x},
              [c](Bindings& b) {
                b.put(c.x, convolved(b.get(c.y), b.get(c.w), c.x.dims, c.geometry, true));
              },
              flops};
    default:
      return {name,
              {c.x, c.y},
              {c.w},
              [c](Bindings& b) {
                b.put(c.w, weight_gradient(b.get(c.x), b.get(c.y), c.w.dims, c.geometry));
              },
              flops};
  }
}

}  // namespace rueda::standin
