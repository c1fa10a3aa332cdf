#include "reference_ops.hpp"

#include <cmath>
#include <limits>

namespace rueda::test {
namespace {

std::size_t index(int i) { return std::size_t(i); }

/// A value for every window of a convolution or pooling over `x`.
template <typename Node>
Tensor windows(const Tensor& x, int channels, const Node& k) {
  const auto along = [&](int extent) { return (extent + 2 * k.padding - k.kernel) / k.stride + 1; };
  return {x.n, channels, along(x.h), along(x.w)};
}

/// The three directions of a convolution visit the same products: f(out place, in place, weight).
struct Product {
  int n, o, oy, ox;
  int c, iy, ix;
  std::size_t weight;
};

template <typename F>
void for_each_product(const Tensor& x, const ConvNode& k, F f) {
  for_each_place(windows(x, k.filters, k), [&](int n, int o, int oy, int ox) {
    for (int ky = 0; ky < k.kernel; ++ky) {
      for (int kx = 0; kx < k.kernel; ++kx) {
        const int iy = oy * k.stride - k.padding + ky;
        const int ix = ox * k.stride - k.padding + kx;
        if (!x.has(iy, ix)) continue;
        for (int c = 0; c < x.c; ++c) {
          f(Product{n, o, oy, ox, c, iy, ix,
                    index(((o * k.kernel + ky) * k.kernel + kx) * x.c + c)});
        }
      }
    }
  });
}

}  // namespace

Tensor conv(const Tensor& x, const Vector& weight, const Vector& bias, const ConvNode& k) {
  Tensor y = windows(x, k.filters, k);
  if (!bias.empty())
    for_each_place(y, [&](int n, int o, int oy, int ox) { y.at(n, o, oy, ox) = bias[index(o)]; });
  for_each_product(x, k, [&](const Product& p) {
    y.at(p.n, p.o, p.oy, p.ox) += x.at(p.n, p.c, p.iy, p.ix) * weight[p.weight];
  });
  return y;
}

Tensor conv_data_gradient(const Tensor& x, const Vector& weight, const ConvNode& k,
                          const Tensor& dy) {
  Tensor dx(x.n, x.c, x.h, x.w);
  for_each_product(x, k, [&](const Product& p) {
    dx.at(p.n, p.c, p.iy, p.ix) += dy.at(p.n, p.o, p.oy, p.ox) * weight[p.weight];
  });
  return dx;
}

Vector conv_weight_gradient(const Tensor& x, const ConvNode& k, const Tensor& dy) {
  Vector dw(index(k.filters * k.kernel * k.kernel * x.c));
  for_each_product(x, k, [&](const Product& p) {
    dw[p.weight] += dy.at(p.n, p.o, p.oy, p.ox) * x.at(p.n, p.c, p.iy, p.ix);
  });
  return dw;
}

Vector conv_bias_gradient(const Tensor& dy) {
  Vector db(index(dy.c));
  for_each_place(dy, [&](int n, int o, int y, int x) { db[index(o)] += dy.at(n, o, y, x); });
  return db;
}

Moments batch_moments(const Tensor& x) {
  const double m = double(x.n) * x.h * x.w;
  Moments s{Vector(index(x.c)), Vector(index(x.c))};
  for_each_place(x, [&](int n, int c, int y, int w) { s.mean[index(c)] += x.at(n, c, y, w) / m; });
  for_each_place(x, [&](int n, int c, int y, int w) {
    const double d = x.at(n, c, y, w) - s.mean[index(c)];
    s.variance[index(c)] += d * d / m;
  });
  return s;
}

Tensor normalise(const Tensor& x, const Moments& s, const Vector& gamma, const Vector& beta,
                 double epsilon) {
  Tensor y(x.n, x.c, x.h, x.w);
  for_each_place(x, [&](int n, int c, int h, int w) {
    const double unit =
        (x.at(n, c, h, w) - s.mean[index(c)]) / std::sqrt(s.variance[index(c)] + epsilon);
    y.at(n, c, h, w) = gamma[index(c)] * unit + beta[index(c)];
  });
  return y;
}

BatchNormGradients batch_norm_gradients(const Tensor& x, const Vector& gamma, double epsilon,
                                        const Tensor& dy) {
  const double m = double(x.n) * x.h * x.w;
  const Tensor unit =
      normalise(x, batch_moments(x), Vector(index(x.c), 1.0), Vector(index(x.c), 0.0), epsilon);
  const Vector variance = batch_moments(x).variance;
  BatchNormGradients g{Tensor(x.n, x.c, x.h, x.w), Vector(index(x.c)), Vector(index(x.c))};
  for_each_place(x, [&](int n, int c, int h, int w) {
    g.gamma[index(c)] += dy.at(n, c, h, w) * unit.at(n, c, h, w);
    g.beta[index(c)] += dy.at(n, c, h, w);
  });
  for_each_place(x, [&](int n, int c, int h, int w) {
    const double centred =
        dy.at(n, c, h, w) - g.beta[index(c)] / m - unit.at(n, c, h, w) * g.gamma[index(c)] / m;
    g.x.at(n, c, h, w) = gamma[index(c)] / std::sqrt(variance[index(c)] + epsilon) * centred;
  });
  return g;
}

Tensor relu(const Tensor& x) {
  Tensor y = x;
  for (double& v : y.values) v = v > 0 ? v : 0;
  return y;
}

Tensor relu_gradient(const Tensor& x, const Tensor& dy) {
  Tensor dx = dy;
  for (std::size_t i = 0; i < dx.size(); ++i) dx.values[i] = x.values[i] > 0 ? dy.values[i] : 0;
  return dx;
}

Tensor sum(const Tensor& a, const Tensor& b) {
  Tensor y = a;
  for (std::size_t i = 0; i < y.size(); ++i) y.values[i] += b.values[i];
  return y;
}

namespace {

/// Where the largest value of the window at (oy, ox) lies: the first of equals. Outside of `x` it
/// is a padding zero.
struct Place {
  int y, x;
  double value;
};

Place largest_in_window(const Tensor& x, const MaxPoolNode& k, int n, int c, int oy, int ox) {
  Place best{-1, -1, -std::numeric_limits<double>::infinity()};
  for (int ky = 0; ky < k.kernel; ++ky) {
    for (int kx = 0; kx < k.kernel; ++kx) {
      const int iy = oy * k.stride - k.padding + ky;
      const int ix = ox * k.stride - k.padding + kx;
      if (!x.has(iy, ix) && k.filled_with == PoolPadding::none) continue;
      const double value = x.has(iy, ix) ? x.at(n, c, iy, ix) : 0.0;
      if (value > best.value) best = {iy, ix, value};
    }
  }
  return best;
}

}  // namespace

Tensor max_pool(const Tensor& x, const MaxPoolNode& k) {
  Tensor y = windows(x, x.c, k);
  for_each_place(y, [&](int n, int c, int oy, int ox) {
    y.at(n, c, oy, ox) = largest_in_window(x, k, n, c, oy, ox).value;
  });
  return y;
}

Tensor max_pool_gradient(const Tensor& x, const MaxPoolNode& k, const Tensor& dy) {
  Tensor dx(x.n, x.c, x.h, x.w);
  for_each_place(dy, [&](int n, int c, int oy, int ox) {
    const Place p = largest_in_window(x, k, n, c, oy, ox);
    if (dx.has(p.y, p.x)) dx.at(n, c, p.y, p.x) += dy.at(n, c, oy, ox);
  });
  return dx;
}

Tensor pad_shortcut(const Tensor& x, const PadShortcutNode& k, const Shape& output) {
  Tensor y(x.n, output);
  const int before = (y.c - x.c) / 2;
  for_each_place(y, [&](int n, int c, int oy, int ox) {
    const int from = c - before;
    if (from >= 0 && from < x.c) y.at(n, c, oy, ox) = x.at(n, from, oy * k.stride, ox * k.stride);
  });
  return y;
}

Tensor pad_shortcut_gradient(const Tensor& x, const PadShortcutNode& k, const Tensor& dy) {
  Tensor dx(x.n, x.c, x.h, x.w);
  const int before = (dy.c - x.c) / 2;
  for_each_place(dx, [&](int n, int c, int y, int w) {
    if (y % k.stride == 0 && w % k.stride == 0)
      dx.at(n, c, y, w) = dy.at(n, c + before, y / k.stride, w / k.stride);
  });
  return dx;
}

Tensor global_average_pool(const Tensor& x) {
  Tensor y(x.n, x.c, 1, 1);
  for_each_place(
      x, [&](int n, int c, int h, int w) { y.at(n, c, 0, 0) += x.at(n, c, h, w) / (x.h * x.w); });
  return y;
}

Tensor global_average_pool_gradient(const Tensor& x, const Tensor& dy) {
  Tensor dx(x.n, x.c, x.h, x.w);
  for_each_place(
      x, [&](int n, int c, int h, int w) { dx.at(n, c, h, w) = dy.at(n, c, 0, 0) / (x.h * x.w); });
  return dx;
}

namespace {

/// A fully connected layer is a convolution of an image of one pixel by as many filters as units.
ConvNode filters_for(std::size_t units) { return {.filters = int(units)}; }

}  // namespace

Tensor dense(const Tensor& x, const Vector& weight, const Vector& bias) {
  return conv(x, weight, bias, filters_for(bias.size()));
}

Tensor dense_data_gradient(const Tensor& x, const Vector& weight, const Tensor& dy) {
  return conv_data_gradient(x, weight, filters_for(index(dy.c)), dy);
}

Vector dense_weight_gradient(const Tensor& x, const Tensor& dy) {
  return conv_weight_gradient(x, filters_for(index(dy.c)), dy);
}

Vector dense_bias_gradient(const Tensor& dy) { return conv_bias_gradient(dy); }

ReferenceLoss softmax_cross_entropy(const Tensor& logits, const std::vector<std::int32_t>& labels,
                                    double scale, double smoothing) {
  ReferenceLoss r{0, 0, Tensor(logits.n, logits.c, 1, 1)};
  for (int n = 0; n < logits.n; ++n) {
    const int label = labels[index(n)];
    int best = 0;
    for (int k = 1; k < logits.c; ++k)
      if (logits.at(n, k, 0, 0) > logits.at(n, best, 0, 0)) best = k;
    const double largest = logits.at(n, best, 0, 0);
    double denominator = 0;
    for (int k = 0; k < logits.c; ++k) denominator += std::exp(logits.at(n, k, 0, 0) - largest);
    const auto loss_of = [&](int k) {
      return std::log(denominator) + largest - logits.at(n, k, 0, 0);
    };
    r.loss += (1 - smoothing) * loss_of(label);
    for (int k = 0; k < logits.c; ++k) r.loss += smoothing / logits.c * loss_of(k);
    r.correct += best == label ? 1 : 0;
    for (int k = 0; k < logits.c; ++k) {
      const double probability = std::exp(logits.at(n, k, 0, 0) - largest) / denominator;
      const double own = k == label ? probability - 1 : probability;
      const double mean = probability - 1.0 / logits.c;
      r.gradient.at(n, k, 0, 0) = scale * ((1 - smoothing) * own + smoothing * mean);
    }
  }
  return r;
}

}  // namespace rueda::test
