#pragma once

namespace rueda {

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

}  // namespace rueda
