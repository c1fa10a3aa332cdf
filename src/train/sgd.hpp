#pragma once

#include <span>

#include "kernels/sgd.hpp"
#include "rueda/backend/backend.hpp"

namespace rueda {

/// Stochastic gradient descent with momentum over the parameter arena. Owns one
/// velocity per parameter, zero at first, on the backend's device, where they lie
/// as `parameters` do: so a kernel can take both in packs.
class Sgd {
 public:
  using Options = kernels::SgdStep;  ///< the learning rate is given at each update

  Sgd(Backend& device, std::span<const float> parameters, const Options& options)
      : device_(device),
        options_(options),
        lead_(lead_of(parameters)),
        velocities_(device.allocate((lead_ + parameters.size()) * sizeof(float))) {}

  /// Updates a slice of the parameters that starts `offset` floats into the
  /// arena, by the gradients of the same slice: slice by slice or all at once,
  /// the bits are the same.
  void update(std::span<float> values, std::span<const float> gradients, std::size_t offset,
              double learning_rate) {
    options_.learning_rate = float(learning_rate);
    device_.sgd_update(values, velocities().subspan(offset, values.size()), gradients, options_);
  }
  std::span<float> velocities() { return velocities_.floats().subspan(lead_); }

 private:
  Backend& device_;
  Options options_;
  std::size_t lead_;
  Memory velocities_;
};

}  // namespace rueda
