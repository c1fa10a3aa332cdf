#pragma once

namespace rueda {

/// The share of the roof that a convolution of cuDNN's reaches. A convolution is
/// a product of a matrix of its weights with one that is as long as all pixels
/// of a batch; `side` is the shorter side of the weights' matrix. What a
/// multiprocessor loads serves more multiplications the larger its tile is, and
/// a tile cannot be larger than that side: the share is 85 % x side / (side + 48).
/// Source: estimates, 57 % between 64 and 128 channels and 78 % with 512, from
/// which the two numbers follow. With them the plan of ResNet50V2 stays below
/// the record of MLPerf Training v4.0 (docs/results/roofline.md).
constexpr double convolution_share(double side) {
  constexpr double kMost = 0.85;
  constexpr double kHalf = 48;  // the side with half of that
  return kMost * side / (side + kHalf);
}

}  // namespace rueda
