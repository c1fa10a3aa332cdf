#pragma once

#include <utility>

#include "tests/support/bf16_rounding.hpp"
#include "tests/support/operation_bench.hpp"
#include "tests/support/random_tensor.hpp"

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
  ConvData(const Graph& graph, const ConvCase& c, Precision p);

  /// As the arena has them.
  Vector parameters() const;
};

void check_forward(const ConvData& d, const Tensor& y);
void check_data_gradient(const ConvData& d, const Tensor& dx);
void check_parameter_gradients(const ConvData& d, OperationBench& bench);

}  // namespace rueda::test
