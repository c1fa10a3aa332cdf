#pragma once

#include <utility>

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
  ConvData(const Graph& graph, const ConvCase& c, Precision p);

  /// As the arena has them.
  Vector parameters() const;
};

void check_forward(const ConvData& d, const Tensor& y);
void check_data_gradient(const ConvData& d, const Tensor& dx);
void check_parameter_gradients(const ConvData& d, OperationBench& bench);

struct NormCase {
  int channels, height, width, batch;
  float epsilon;
  bool relu;
};

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
  NormData(const Graph& graph, const NormCase& c, Precision p);

  double deviation(int c) const;
  Tensor before_relu() const;
  Tensor gradient_behind_relu() const;
  /// As the arena has them.
  Vector parameters() const;

 private:
  void measure();
};

void check_output(const NormData& d, const Tensor& y);
void check_statistics(const NormData& d, const Vector& statistics);
/// Checks what inference with running statistics gives; `residual` as in NormData.
void check_inference(const Graph& graph, const NormCase& c, Precision p, const Variant& variant,
                     const Tensor& residual = {});
/// `dx`: of x, as `bench` put it out.
void check_gradients(const NormData& d, OperationBench& bench, const Tensor& dx);

}  // namespace rueda::test
