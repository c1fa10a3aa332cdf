#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "rueda/model/graph.hpp"

/// Every kind of node in double precision, in loops that follow the definition and nothing else:
/// what the backends are compared with. Weights lie as in the arenas: convolutions out, height,
/// width, in; dense out, in. `dy` is the gradient of a node's output.
namespace rueda::test {

/// Plain (N, C, H, W) values in double.
struct Tensor {
  int n = 0;
  int c = 0;
  int h = 1;
  int w = 1;
  std::vector<double> values;

  Tensor() = default;
  Tensor(int images, int channels, int height, int width)
      : n(images), c(channels), h(height), w(width) {
    values.assign(std::size_t(n) * std::size_t(c) * std::size_t(h) * std::size_t(w), 0.0);
  }
  Tensor(int images, const Shape& shape)
      : Tensor(images, shape.channels, shape.height, shape.width) {}

  double& at(int in, int ic, int iy, int ix) { return values[index(in, ic, iy, ix)]; }
  double at(int in, int ic, int iy, int ix) const { return values[index(in, ic, iy, ix)]; }
  bool has(int iy, int ix) const { return iy >= 0 && iy < h && ix >= 0 && ix < w; }
  std::size_t size() const { return values.size(); }

 private:
  std::size_t index(int in, int ic, int iy, int ix) const {
    return std::size_t(((in * c + ic) * h + iy) * w + ix);
  }
};

/// f(image, channel, y, x) for every element of a tensor of this shape, in memory order.
template <typename F>
void for_each_place(const Tensor& t, F f) {
  for (int n = 0; n < t.n; ++n) {
    for (int c = 0; c < t.c; ++c) {
      for (int y = 0; y < t.h; ++y)
        for (int x = 0; x < t.w; ++x) f(n, c, y, x);
    }
  }
}

using Vector = std::vector<double>;

/// First `a`, then `b`.
inline Vector joined(Vector a, const Vector& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// `bias` may be empty: then there is none.
Tensor conv(const Tensor& x, const Vector& weight, const Vector& bias, const ConvNode& node);
Tensor conv_data_gradient(const Tensor& x, const Vector& weight, const ConvNode& node,
                          const Tensor& dy);
Vector conv_weight_gradient(const Tensor& x, const ConvNode& node, const Tensor& dy);
Vector conv_bias_gradient(const Tensor& dy);

struct Moments {
  Vector mean;
  Vector variance;  ///< biased: divided by the number of values
};
Moments batch_moments(const Tensor& x);
/// gamma * (x - mean) / sqrt(variance + epsilon) + beta, without the ReLU.
Tensor normalise(const Tensor& x, const Moments& moments, const Vector& gamma, const Vector& beta,
                 double epsilon);
struct BatchNormGradients {
  Tensor x;
  Vector gamma;
  Vector beta;
};
/// Gradients of `normalise` with the batch's own moments, through these too.
BatchNormGradients batch_norm_gradients(const Tensor& x, const Vector& gamma, double epsilon,
                                        const Tensor& dy);

Tensor relu(const Tensor& x);
/// `dy` where the ReLU's input `x` was positive, else 0.
Tensor relu_gradient(const Tensor& x, const Tensor& dy);
Tensor sum(const Tensor& a, const Tensor& b);

Tensor max_pool(const Tensor& x, const MaxPoolNode& node);
Tensor max_pool_gradient(const Tensor& x, const MaxPoolNode& node, const Tensor& dy);
Tensor pad_shortcut(const Tensor& x, const PadShortcutNode& node, const Shape& output);
Tensor pad_shortcut_gradient(const Tensor& x, const PadShortcutNode& node, const Tensor& dy);
Tensor global_average_pool(const Tensor& x);
Tensor global_average_pool_gradient(const Tensor& x, const Tensor& dy);

Tensor dense(const Tensor& x, const Vector& weight, const Vector& bias);
Tensor dense_data_gradient(const Tensor& x, const Vector& weight, const Tensor& dy);
Vector dense_weight_gradient(const Tensor& x, const Tensor& dy);
Vector dense_bias_gradient(const Tensor& dy);

struct ReferenceLoss {
  double loss = 0;  ///< sum over the rows
  int correct = 0;
  Tensor gradient;  ///< of scale * loss
};
/// Smoothed labels: the mean of the losses of all labels has the weight `smoothing`, that of the
/// row's own label the rest.
ReferenceLoss softmax_cross_entropy(const Tensor& logits, const std::vector<std::int32_t>& labels,
                                    double scale, double smoothing = 0);

/// `count` values in [-bound, bound), a function of `key`, each exactly a float, so that fp32 and
/// double start from the same numbers.
inline Vector random_vector(std::uint64_t key, std::size_t count, double bound = 1.0,
                            double centre = 0.0) {
  Vector values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double unit = 2.0 * to_unit(random_bits(key, i)) - 1.0;
    values[i] = double(float(centre + bound * unit));
  }
  return values;
}

inline Tensor random_tensor(std::uint64_t key, int n, const Shape& shape, double bound = 1.0,
                            double centre = 0.0) {
  Tensor t(n, shape);
  t.values = random_vector(key, t.size(), bound, centre);
  return t;
}

inline std::vector<float> to_floats(const Vector& values) {
  std::vector<float> floats;
  floats.reserve(values.size());
  for (const double v : values) floats.push_back(float(v));
  return floats;
}

template <typename Floats>
Vector to_doubles(const Floats& floats) {
  return Vector(floats.begin(), floats.end());
}

}  // namespace rueda::test
