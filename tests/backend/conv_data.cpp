#include "conv_data.hpp"

#include <catch2/catch.hpp>

#include "tests/support/fp32_tolerance.hpp"

namespace rueda::test {

ConvData::ConvData(const Graph& graph, const ConvCase& c, Precision p)
    : precision(p),
      node(std::get<ConvNode>(graph.nodes().back().kind)),
      x(as_stored(random_tensor(1, c.batch, {c.channels, c.height, c.width}), p)),
      weight(as_stored(random_vector(2, graph.parameter(node.weight).count), p)),
      bias(random_vector(3, c.bias ? static_cast<std::size_t>(c.filters) : 0)),
      dy(as_stored(random_tensor(4, c.batch, graph.shape(graph.logits())), p)) {}

Vector ConvData::parameters() const {
  Vector all = weight;
  all.insert(all.end(), bias.begin(), bias.end());
  return all;
}

void check_forward(const ConvData& d, const Tensor& y) {
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

void check_data_gradient(const ConvData& d, const Tensor& dx) {
  const Tensor magnitude = conv_data_gradient(d.x, magnitudes(d.weight), d.node, magnitudes(d.dy));
  const int terms = d.node.kernel * d.node.kernel * d.node.filters;
  CHECK(excess(dx.values, conv_data_gradient(d.x, d.weight, d.node, d.dy).values, magnitude.values,
               terms, d.precision) <= 1);
}

/// Computed in fp32 in either precision.
void check_parameter_gradients(const ConvData& d, OperationBench& bench) {
  const int terms = d.dy.n * d.dy.h * d.dy.w;
  CHECK(excess(bench.parameter_gradient(d.node.weight), conv_weight_gradient(d.x, d.node, d.dy),
               conv_weight_gradient(magnitudes(d.x), d.node, magnitudes(d.dy)), terms,
               weight_gradients_in(d.precision)) <= 1);
  if (d.bias.empty()) return;
  CHECK(excess(bench.parameter_gradient(d.node.bias), conv_bias_gradient(d.dy),
               conv_bias_gradient(magnitudes(d.dy)), terms) <= 1);
}

}  // namespace rueda::test
