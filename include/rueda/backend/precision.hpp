#pragma once

#include <cstddef>
#include <string>

namespace rueda {

/// What activations and packed weights are kept in and convolutions compute in. Parameters, their
/// gradients, all statistics, and everything behind the global pooling are fp32 in any case. tf32:
/// all is kept in fp32, and convolutions may round their operands to 10 bits of mantissa.
enum class Precision { fp32, tf32, bf16 };

/// The word that the command line uses for it.
inline const char* to_string(Precision p) {
  return p == Precision::bf16 ? "bf16" : p == Precision::tf32 ? "tf32" : "fp32";
}

/// Which activations backward makes once more instead of keeping them from forward on.
enum class Recompute {
  none,
  batch_norm,  ///< outputs of batch norms: cheap, their inputs are kept anyway
  block,       ///< everything inside a residual block, from the block's input
};

/// The word that the command line uses for it.
inline const char* to_string(Recompute r) {
  return r == Recompute::block ? "block" : r == Recompute::batch_norm ? "bn" : "none";
}

/// How long a rank of the timed backend waits where others compute.
struct TimedCompute {
  double seconds = 0;         ///< for forward and backward of `images` images; others in proportion
  std::size_t images = 1;     ///< of a full micro-batch
  double jitter_percent = 0;  ///< by which each micro-batch may take longer or shorter
  std::string recorded_in = {};  ///< the run.json that `seconds` comes from; empty: given
};

}  // namespace rueda
