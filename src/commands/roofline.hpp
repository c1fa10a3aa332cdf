#pragma once

#include <string>

#include "rueda/backend/precision.hpp"

namespace rueda {

struct SummaryOptions;

/// What a step of the CUDA backend takes on a GPU, by counting its passes over
/// memory: no GPU is needed. Throws InputError naming --roofline.
std::string roofline_text(const SummaryOptions& options);

/// The share of a large product's rate that a convolution of cuDNN's reaches. A
/// convolution is a product of a matrix of its weights with one that is as long
/// as all pixels of a batch; `side` is the shorter side of the weights' matrix.
/// What a multiprocessor loads serves more multiplications the larger its tile
/// is, and a tile cannot be larger than that side. Source for bf16: least
/// squares over 199 convolutions that were timed on an H100
/// (docs/results/h100.md). The most of fp32 and TF32 is an estimate.
constexpr double convolution_share(double side, Precision precision) {
  constexpr double kHalf = 50;  // the side with half of the most
  const double most = precision == Precision::bf16 ? 0.99 : 0.85;
  return most * side / (side + kHalf);
}

}  // namespace rueda
