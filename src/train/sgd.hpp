#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/lars.hpp"
#include "kernels/sgd.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/train/config.hpp"

namespace rueda {

/// What makes LARS of SGD (kernels/lars.hpp).
struct LarsOptions {
  double trust = 0;
  double epsilon = 0;
  /// All of the arena, one after the other; none: SGD is plain.
  std::vector<LarsTensor> tensors = {};
};

/// The parameters of `graph`. Kernels of convolutions and dense layers are adapted; biases and the
/// parameters of batch norms are not, as in MLPerf's closed division.
std::vector<LarsTensor> lars_tensors(const Graph& graph);

/// Stochastic gradient descent with momentum over the parameter arena, plain or as LARS. Owns one
/// velocity per parameter, zero at first, on the backend's device, where they lie
/// as `parameters` do: so a kernel can take both in packs.
class Sgd {
 public:
  using Options = kernels::SgdStep;  ///< the learning rate is given at each update

  Sgd(Backend& device, std::span<const float> parameters, const Options& options,
      LarsOptions lars = {});
  /// As a run is configured, for the parameters of `graph`.
  Sgd(Backend& device, std::span<const float> parameters, const OptimizerConfig& config,
      const Graph& graph);

  /// Updates a slice of the parameters that starts `offset` floats into the
  /// arena, by the gradients of the same slice: slice by slice or all at once,
  /// the bits are the same. LARS needs whole tensors, as buckets are; throws RunError for a part.
  void update(std::span<float> values, std::span<const float> gradients, std::size_t offset,
              double learning_rate);
  std::span<float> velocities() { return velocities_.floats().subspan(lead_); }

 private:
  void update_tensors(std::span<float> values, std::span<float> velocities,
                      std::span<const float> gradients, std::size_t offset);

  Backend& device_;
  Options options_;
  LarsOptions lars_;
  std::size_t lead_;
  Memory velocities_;
  Memory squares_;  ///< of a slice: by tensor of the values, then of the gradients
};

}  // namespace rueda
