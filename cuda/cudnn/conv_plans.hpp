#pragma once

#include <optional>
#include <string>

#include "cuda/operations/operations.hpp"

namespace rueda::cuda {

/// The shapes of one convolution as cuDNN gets them, and its plans in each direction.
class ConvPlans {
 public:
  ConvPlans(const OperationRequest& request, const ConvNode& conv);

  /// Tensors of the plans; kX and kW stand for their gradients where these are
  /// computed. From 1: 0 would look like an id that was never set.
  enum : CudnnGraph::Tensor { kX = 1, kW, kY, kBias, kResidual, kDy, kSums, kSquareSums };

  /// What stands for a tensor of a launch.
  static CudnnGraph::Tensor id_of(Tensor tensor);

  /// For a launch of a convolution in any direction, forward with what it uses
  /// in its epilogue. Null: no engine.
  const CudnnPlan* find(const Launch& launch) const;
  /// For a launch forward: whether its engine is timed, or named by a tuning file.
  bool decided(const Launch& launch) const {
    return r_.context.plans->decides(forward_key(launch));
  }

  /// Numbers in the weights, zeros of windows included.
  std::size_t weight_count() const { return w_.elements(); }
  /// What is multiplied in place of the image; nothing where there are none (windows_of).
  const std::optional<kernels::RowWindows>& windows() const { return windows_; }

 private:
  void read_windows();
  std::string key(const char* what) const;
  std::string forward_key(const Launch& launch) const;
  const CudnnPlan* forward(const Launch& launch) const;
  const CudnnPlan* gradient(ConvDirection direction, const std::string& name,
                            const TensorSpec& weights) const;

  OperationRequest r_;
  std::optional<kernels::RowWindows> windows_;
  ConvGeometry geometry_;
  TensorSpec x_, w_, dw_, y_;
};

}  // namespace rueda::cuda
