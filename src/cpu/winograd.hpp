#pragma once

#include <cstddef>

#include "base/split.hpp"
#include "rueda/backend/backend.hpp"

namespace rueda::cpu {

/// A 3x3 convolution of stride 1 and padding 1 in fp32, in its three directions, by
/// Winograd's algorithm F(4x4, 3x3) (Lavin and Gray, CVPR 2016): 36 multiplications for
/// a tile of 4x4 outputs, where the sum itself has 144. It transforms patches of 6x6
/// inputs and the weights to 36 points, multiplies at each point (tiles x channels) by
/// (channels x channels), and transforms the products to outputs. The weight gradient
/// goes the way back. No result depends on the number of threads.
class Winograd {
 public:
  struct Shape {
    std::size_t batch, height, width, inputs, outputs;  ///< channels

    std::size_t tiles() const { return batch * pieces(height, 4) * pieces(width, 4); }
  };
  /// The channels of either side must be a multiple of this: two vectors of the widest.
  static constexpr std::size_t kChannels = 32;
  /// Whether in this layout the channels of a vector of this processor lie together.
  static bool reads(const ActivationView& view);

  /// `input` and `output` say where the activations' values lie.
  Winograd(const Shape& shape, const ActivationView& input, const ActivationView& output);

  /// With as many threads as OpenMP starts now. The scratch area lies on a 64-byte boundary.
  std::size_t scratch_bytes() const;

  // Weights and their gradient lie as (outputs, 3, 3, inputs). Each overwrites what it names,
  // and the scratch area.
  void forward(const float* input, const float* weights, float* output, float* scratch) const;
  void data_gradient(const float* output_gradient, const float* weights, float* input_gradient,
                     float* scratch) const;
  void weight_gradient(const float* input, const float* output_gradient, float* weight_gradient,
                       float* scratch) const;

 private:
  /// One side of a convolution.
  struct Side {
    ActivationView view;
    std::size_t channels;
  };
  struct Sides {
    const Side &from, &to;
  };
  bool goes_by_strips(const Sides& sides) const;
  std::size_t scratch_floats(const Sides& sides) const;
  std::size_t gradient_scratch_floats() const;
  void convolve(const Sides& sides, const float* x, float* y, const float* weights,
                float* scratch) const;
  void convolve_blocks(const Sides& sides, const float* x, float* y, const float* weights,
                       float* scratch) const;
  void convolve_strips(const Sides& sides, const float* x, float* y, const float* weights,
                       float* scratch) const;

  Shape shape_;
  Side input_, output_;
};

}  // namespace rueda::cpu
