#pragma once

#include <cstdint>
#include <vector>

#include "rueda/model/graph.hpp"
#include "tensor.hpp"

/// Every kind of node in double precision, in loops that follow the definition and nothing else:
/// what the backends are compared with. Weights lie as in the arenas: convolutions out, height,
/// width, in; dense out, in. `dy` is the gradient of a node's output.
namespace rueda::test {

using Vector = std::vector<double>;

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
ReferenceLoss softmax_cross_entropy(const Tensor& logits, const std::vector<std::int32_t>& labels,
                                    double scale);

}  // namespace rueda::test
