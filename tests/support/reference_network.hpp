#pragma once

#include <cstdint>
#include <vector>

#include "reference_ops.hpp"
#include "rueda/model/graph.hpp"

namespace rueda::test {

/// One training step of a graph, by the reference operations.
struct ReferenceStep {
  std::vector<Tensor> activations;  ///< by node
  double loss = 0;                  ///< sum over the images
  int correct = 0;
  Vector gradients;   ///< of scale * loss, in the order of the parameter arena
  Vector statistics;  ///< batch means and biased variances, as BatchNormNode::statistics_offset
  /// How far the step is from a point where it has no derivative: the smallest |input of a ReLU|,
  /// and the smallest lead of a pooling window's largest value over another. Where it is not well
  /// above the rounding error, fp32 and double may rightly disagree by a whole summand.
  double kink_distance = 0;
};

/// `parameters` in the order of the parameter arena; `smoothing`: of the labels.
ReferenceStep reference_step(const Graph& graph, const Vector& parameters, const Tensor& input,
                             const std::vector<std::int32_t>& labels, double scale,
                             double smoothing = 0);

/// Logits with the running statistics (`running`: as the statistics arena) in place of the batch's.
Tensor reference_logits(const Graph& graph, const Vector& parameters, const Vector& running,
                        const Tensor& input);

/// Random parameters (weights He-uniform, gammas around 1) with which a step from `input` stays
/// `distance` away from every kink; tries seeds in order.
Vector smooth_parameters(const Graph& graph, const Tensor& input,
                         const std::vector<std::int32_t>& labels, double distance);

}  // namespace rueda::test
