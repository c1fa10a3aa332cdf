#pragma once

#include <string>

#include "rueda/backend/precision.hpp"
#include "rueda/model/work.hpp"

namespace rueda {

struct Launch;
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

/// What a launch takes besides its work, in seconds, and the share of a copy's
/// rate at which it moves its bytes. Source: the time of each kernel in a step of
/// ResNet-18 with 128 images on an H100, by ncu, added up by kind
/// (docs/results/h100.md#what-holds-it-back). The three of rueda's own kernels
/// are those for which the kind that fits worst fits best.
constexpr double kProductSeconds = 12e-6;  ///< cuDNN's or cuBLAS', with the kernels it starts
constexpr double kSumSeconds = 7.5e-6;     ///< sums over the rows of a batch
constexpr double kOtherSeconds = 1.5e-6;   ///< all others
constexpr double kOwnShare = 0.93;         ///< all but convolutions, which reach a copy's rate
/// Of a convolution with bias, residual, and statistics of its output. Source: the tuner's time
/// of engine 4 with 1024 images. What each of the three costs was not separated.
constexpr double kStatisticsShare = 0.5;

/// What a launch takes on a GPU of these rates, by these constants.
double planned_seconds(const Launch& launch, const Roof& roof, Precision precision);

}  // namespace rueda
