#pragma once

#include <cmath>
#include <utility>

#include <catch2/catch.hpp>

#include "model/graph_builder.hpp"
#include "tests/support/operation_bench.hpp"
#include "tests/support/reference_ops.hpp"
#include "tests/support/rounding.hpp"

namespace rueda::test {

struct ConvCase {
  int channels, filters, kernel, stride, padding, height, width, batch;
  bool bias;
  ConvOptions options() const {
    return {
        .filters = filters, .kernel = kernel, .stride = stride, .padding = padding, .bias = bias};
  }
};

/// Everything that a convolution reads, and what it shall give. In bf16 all but the bias is such
/// numbers; the bias is fp32.
struct ConvData {
  Precision precision;
  ConvNode node;
  Tensor x;
  Vector weight, bias;
  Tensor dy;
  Tensor residual;  ///< added to the output; empty: nothing

  /// `graph` ends with the convolution.
  ConvData(const Graph& graph, const ConvCase& c, Precision p)
      : precision(p),
        node(std::get<ConvNode>(graph.nodes().back().kind)),
        x(as_stored(random_tensor(1, c.batch, {c.channels, c.height, c.width}), p)),
        weight(as_stored(random_vector(2, graph.parameter(node.weight).count), p)),
        bias(random_vector(3, c.bias ? std::size_t(c.filters) : 0)),
        dy(as_stored(random_tensor(4, c.batch, graph.shape(graph.logits())), p)) {}

  /// As the arena has them.
  Vector parameters() const { return joined(weight, bias); }
};

inline void check_forward(const ConvData& d, const Tensor& y) {
  const int terms = d.node.kernel * d.node.kernel * d.x.c + 2;
  Tensor expected = conv(d.x, d.weight, d.bias, d.node);
  Tensor magnitude = conv(magnitudes(d.x), magnitudes(d.weight), magnitudes(d.bias), d.node);
  if (!d.bias.empty() || !d.residual.values.empty()) {
    const Tensor alone = magnitudes(conv(d.x, d.weight, {}, d.node));
    const double part = epilogue_rounding(d.precision) / fp32_tolerance(terms);
    for (std::size_t i = 0; i < y.size(); ++i) magnitude.values[i] += part * alone.values[i];
  }
  if (!d.residual.values.empty()) {
    expected = sum(expected, d.residual);
    magnitude = sum(magnitude, magnitudes(d.residual));
  }
  CHECK(excess(y.values, expected.values, magnitude.values, terms, d.precision) <= 1);
}

inline void check_data_gradient(const ConvData& d, const Tensor& dx) {
  const Tensor magnitude = conv_data_gradient(d.x, magnitudes(d.weight), d.node, magnitudes(d.dy));
  const int terms = d.node.kernel * d.node.kernel * d.node.filters;
  CHECK(excess(dx.values, conv_data_gradient(d.x, d.weight, d.node, d.dy).values, magnitude.values,
               terms, d.precision) <= 1);
}

/// Computed in fp32 in either precision.
inline void check_parameter_gradients(const ConvData& d, OperationBench& bench) {
  const int terms = d.dy.n * d.dy.h * d.dy.w;
  CHECK(excess(bench.parameter_gradient(d.node.weight), conv_weight_gradient(d.x, d.node, d.dy),
               conv_weight_gradient(magnitudes(d.x), d.node, magnitudes(d.dy)), terms,
               weight_gradients_in(d.precision)) <= 1);
  if (d.bias.empty()) return;
  CHECK(excess(bench.parameter_gradient(d.node.bias), conv_bias_gradient(d.dy),
               conv_bias_gradient(magnitudes(d.dy)), terms) <= 1);
}

struct NormCase {
  int channels, height, width, batch;
  float epsilon;
  bool relu;
};

/// Channels differ in mean and by up to 1000 in width, so that the narrow ones feel epsilon.
inline Tensor uneven_channels(const NormCase& c) {
  Tensor x = random_tensor(1, c.batch, {c.channels, c.height, c.width}, 1.0, 0.4);
  for_each_place(x, [&](int n, int ch, int y, int w) {
    x.at(n, ch, y, w) *= ch % 3 == 0 ? 1.0 : ch % 3 == 1 ? 0.125 : 0.0078125;
  });
  return x;
}

/// Everything that batch norm reads, and the quantities in which its rounding is measured. In bf16
/// the activations and their gradients are such numbers; all else is fp32.
struct NormData {
  Precision precision;
  BatchNormNode node;
  Tensor x, dy;
  Tensor residual;  ///< added before the ReLU; empty: nothing
  Tensor addend;    ///< added to the gradient of x; empty: nothing
  Vector gamma, beta, one, zero;
  Moments moments;
  double epsilon, values;
  Vector reach;  ///< by channel: largest |x| / deviation + largest |normalised x|

  /// `graph` ends with the batch norm.
  NormData(const Graph& graph, const NormCase& c, Precision p)
      : precision(p),
        node(std::get<BatchNormNode>(graph.nodes().back().kind)),
        x(as_stored(uneven_channels(c), p)),
        dy(as_stored(random_tensor(4, c.batch, {c.channels, c.height, c.width}), p)),
        gamma(random_vector(2, std::size_t(c.channels), 0.5, 1.0)),
        beta(random_vector(3, std::size_t(c.channels))),
        one(std::size_t(c.channels), 1.0),
        zero(std::size_t(c.channels), 0.0),
        moments(batch_moments(x)),
        epsilon(double(c.epsilon)),
        values(double(c.batch) * c.height * c.width),
        reach(zero) {
    const Tensor unit = normalise(x, moments, one, zero, epsilon);
    for_each_place(x, [&](int n, int i, int h, int w) {
      double& r = reach[std::size_t(i)];
      r = std::max(r, std::abs(x.at(n, i, h, w)) / deviation(i) + std::abs(unit.at(n, i, h, w)));
    });
  }

  double deviation(int c) const { return std::sqrt(moments.variance[std::size_t(c)] + epsilon); }
  Tensor before_relu() const {
    const Tensor y = normalise(x, moments, gamma, beta, epsilon);
    return residual.values.empty() ? y : sum(y, residual);
  }
  Tensor gradient_behind_relu() const { return node.relu ? relu_gradient(before_relu(), dy) : dy; }
  /// As the arena has them.
  Vector parameters() const { return joined(gamma, beta); }
};

/// The mean is off by the roundings of its `values` terms, the variance too, and both enter y
/// in units of the deviation; the ReLU never widens a difference.
inline void check_output(const NormData& d, const Tensor& y) {
  Tensor magnitude = d.x;
  for_each_place(magnitude, [&](int n, int c, int h, int w) {
    const auto i = std::size_t(c);
    magnitude.at(n, c, h, w) = std::abs(d.gamma[i]) * d.reach[i] + std::abs(d.beta[i]);
  });
  if (!d.residual.values.empty()) magnitude = sum(magnitude, magnitudes(d.residual));
  const Tensor expected = d.node.relu ? relu(d.before_relu()) : d.before_relu();
  CHECK(excess(y.values, expected.values, magnitude.values, d.values + 8, d.precision) <= 1);
}

/// Of fp32 accuracy in either precision.
inline void check_statistics(const NormData& d, const Vector& statistics) {
  const Vector expected = joined(d.moments.mean, d.moments.variance);
  Vector magnitude;
  for (int c = 0; c < d.x.c; ++c) magnitude.push_back(d.reach[std::size_t(c)] * d.deviation(c));
  for (int c = 0; c < d.x.c; ++c) {
    const auto i = std::size_t(c);
    magnitude.push_back(d.moments.variance[i] + 2 * magnitude[i] * d.deviation(c));
  }
  CHECK(excess(statistics, expected, magnitude, d.values + 8) <= 1);
}

/// Checks what inference with running statistics gives; `residual` as in NormData.
inline void check_inference(const Graph& graph, const NormCase& c, Precision p,
                            const Variant& variant, const Tensor& residual = {}) {
  NormData d(graph, c, p);
  d.residual = residual;
  d.moments = {random_vector(5, d.gamma.size()), random_vector(6, d.gamma.size(), 0.4, 0.5)};
  const Vector running = joined(d.moments.mean, d.moments.variance);
  OperationBench bench({graph, c.batch, variant, p, d.parameters(), Mode::infer, running});
  std::vector<Tensor> inputs = {d.x};
  if (!residual.values.empty()) inputs.push_back(residual);
  const Tensor y = bench.forward(inputs);
  const Tensor expected = c.relu ? relu(d.before_relu()) : d.before_relu();
  // Six roundings of a value of at most (|x| + |mean|) gamma / deviation + |beta| (+ |residual|).
  const Vector magnitude(y.size(), 2.4 * 1.5 / std::sqrt(0.1) + double(inputs.size()));
  CHECK(excess(y.values, expected.values, magnitude, 1, p) <= 1);
  CHECK(bench.damage() == "");
}

/// `dx`: of x, as `bench` put it out.
/// Those of scale and shift are of fp32 accuracy in either precision.
inline void check_gradients(const NormData& d, OperationBench& bench, const Tensor& dx) {
  const Tensor dy = d.gradient_behind_relu();
  BatchNormGradients expected = batch_norm_gradients(d.x, d.gamma, d.epsilon, dy);
  const Vector sum_of_dy = conv_bias_gradient(magnitudes(dy));
  Tensor magnitude = d.x;
  Vector for_gamma = d.zero;
  for_each_place(magnitude, [&](int n, int c, int h, int w) {
    const auto i = std::size_t(c);
    const double mean = (sum_of_dy[i] + std::abs(expected.gamma[i])) / d.values;
    magnitude.at(n, c, h, w) =
        std::abs(d.gamma[i]) / d.deviation(c) * (std::abs(dy.at(n, c, h, w)) + d.reach[i] * mean);
    for_gamma[i] += std::abs(dy.at(n, c, h, w)) * d.reach[i];
  });
  if (!d.addend.values.empty()) {
    expected.x = sum(expected.x, d.addend);
    magnitude = sum(magnitude, magnitudes(d.addend));
  }
  CHECK(excess(dx.values, expected.x.values, magnitude.values, d.values + 12, d.precision) <= 1);
  CHECK(excess(bench.parameter_gradient(d.node.gamma), expected.gamma, for_gamma, d.values + 12) <=
        1);
  CHECK(excess(bench.parameter_gradient(d.node.beta), expected.beta, sum_of_dy, d.values) <= 1);
}

}  // namespace rueda::test
