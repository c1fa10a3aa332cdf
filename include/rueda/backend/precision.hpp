#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "base/text.hpp"

namespace rueda {

/// What activations and packed weights are kept in and convolutions compute in.
/// Parameters, their gradients, all statistics, and everything after the global
/// pooling are fp32 in any case. tf32: all is kept in fp32, and convolutions
/// may round their operands to 10 bits of mantissa.
enum class Precision { fp32, tf32, bf16 };

/// The words of the command line.
constexpr auto words_of(Precision) { return std::array{"fp32", "tf32", "bf16"}; }

/// Which activations backward makes once more instead of keeping them from forward on.
enum class Recompute {
  none,
  batch_norm,  ///< outputs of batch norms: cheap, their inputs are kept anyway
  block,       ///< everything inside a residual block, from the block's input
};

constexpr auto words_of(Recompute) { return std::array{"none", "bn", "block"}; }

/// How long a rank of the timed backend waits where others compute.
struct TimedCompute {
  double seconds = 0;         ///< for forward and backward of `images` images; others in proportion
  std::size_t images = 1;     ///< of a full micro-batch
  double jitter_percent = 0;  ///< by which each micro-batch may take longer or shorter
  std::vector<double> factors = {};  ///< of each rank, by which it takes longer; empty: 1
  std::string recorded_in = {};      ///< the run.json that `seconds` comes from; empty: given
};

}  // namespace rueda
