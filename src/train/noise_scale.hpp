#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "rueda/train/config.hpp"
#include "rueda/train/epoch_figures.hpp"
#include "rueda/train/timings.hpp"
#include "train/run_plan.hpp"

namespace rueda {

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
/// The same of an epoch's steps; none where no step was measured.
std::optional<GradientNoise> noise_of(std::span<const StepRecord> steps, const RunPlan& plan);

/// In which steps norms are measured, as --noise-scale says: in every so many; 0: in none. With
/// `auto` each on a CPU, where that costs 0.1 to 0.3 % of one with 64 images a rank, and every
/// eighth on a GPU.
/// The timed backend has no gradients.
std::size_t noise_interval(const TrainConfig& config, std::string_view backend);

}  // namespace rueda
