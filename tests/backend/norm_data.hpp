#pragma once

#include "tests/support/bf16_rounding.hpp"
#include "tests/support/operation_bench.hpp"
#include "tests/support/random_tensor.hpp"

namespace rueda::test {

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
