#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/replica.hpp"
#include "kernels/pixel.hpp"
#include "model/weights/origin_tensors.hpp"
#include "tests/support/backend_under_test.hpp"
#include "train/sgd.hpp"

namespace rueda::test {

using NamedTensors = std::map<std::string, std::vector<float>>;

/// What a forward pass puts out.
struct Output {
  std::vector<float> logits;  ///< (batch, classes), row by row
  double loss = 0;            ///< mean of the batch
};

/// The input of a network's recipe: normalised for those from PyTorch, in 0 ... 1 for Keras'.
kernels::PixelTransform recipe_transform(const Graph& graph);

/// The first `batch` images through a network filled by the formula.
Output forward_output(const Graph& graph, double gain, std::size_t batch, Mode mode);

/// A replica on the backend under test, filled by the formula, with images of the formula to train
/// on in batches of one size.
class Network {
 public:
  Network(const Graph& graph, double gain, std::size_t batch, std::size_t batches);

  /// Forward and backward on batch number `index`, without an update. Returns the mean loss.
  double step(std::size_t index);
  /// What follows in a training step: optimizer, running statistics.
  void update(Sgd& optimizer, double learning_rate);
  Sgd make_optimizer(const Sgd::Options& options);

  /// By the origin's names and in its order of elements.
  NamedTensors gradients();
  NamedTensors parameters();
  NamedTensors running_statistics();

 private:
  NamedTensors named(bool trainable, std::span<const float> device);

  const Graph& graph_;
  std::vector<OriginTensor> tensors_;
  std::size_t batch_;
  std::unique_ptr<Backend> backend_;
  Replica replica_;
  ImageSet image_set_;
  std::unique_ptr<DeviceImages> images_;
};

}  // namespace rueda::test
