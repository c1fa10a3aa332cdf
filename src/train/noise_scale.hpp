#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include "rueda/train/epoch_figures.hpp"

namespace rueda {

/// The gradients of one step at two batch sizes. A part is a micro-batch of a rank that has images:
/// b of the step's B, with mean gradient g_i; g is the step's.
struct StepNorms {
  double images = 0;            ///< B, over all ranks
  double parts = 0;             ///< 0: not measured
  double part_norm2 = NAN;      ///< sum over the parts of b / B |g_i|^2
  double gradient_norm2 = NAN;  ///< |g|^2

  bool measured() const noexcept { return parts > 0; }
};

inline constexpr std::size_t kMinNoiseSteps = 5;

/// The noise scale S / |G|^2 of `steps`, which follow one another: a ratio of sums over the steps
/// (McCandlish, Kaplan, Amodei et al. 2018, arXiv 1812.06162, appendix A; here for parts of any
/// size, and for batches that are drawn without replacement from `population` images). A step
/// estimates
///   S     = (Q - |g|^2) B / (n - 1), the mean square between its n parts, Q being part_norm2,
///   |G|^2 = |g|^2 - S (1 / B - 1 / population).
/// The interval is Fieller's of a ratio of two means (J. R. Stat. Soc. B 16, 1954), by Student's t
/// over at most kNoiseBlocks blocks of steps, because neighbours are correlated. Its upper end is
/// infinite where |G|^2 is not above 0 by its own interval; then nothing is determined. `batch` and
/// `parts` are those of a full step.
GradientNoise estimate_noise(std::span<const StepNorms> steps, std::size_t population,
                             std::size_t batch, std::size_t parts);

}  // namespace rueda
