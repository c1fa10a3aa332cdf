#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rueda {

/// Other parts have to gain this share of the slowest rank's time.
inline constexpr double kLeastGainOfBalance = 0.05;
/// Steps from which a rank's times are taken.
inline constexpr std::size_t kLeastStepsOfBalance = 3;

/// What a step takes a rank, without waiting for others. Seconds.
struct RankCost {
  double fixed = 0;      ///< however many images it has: update, bookkeeping
  double per_image = 0;  ///< input, forward, loss and backward

  double seconds(std::size_t images) const noexcept { return fixed + per_image * double(images); }
};

/// What the steps of an epoch take a rank: all of them, and each half.
struct MeasuredCost {
  RankCost all, first_half, second_half;
};

/// From what each step took: medians. No time per image where there were fewer than three.
MeasuredCost measured_cost(const std::vector<RankCost>& steps);

/// When the last rank is ready.
double slowest_seconds(const std::vector<RankCost>& costs, const std::vector<std::size_t>& images);

/// Images of each rank with which the slowest is ready soonest: all of
/// `global_batch`, at least one each, at most `most` (empty: no limit). Each image
/// in turn goes to the rank that would be ready first with it, which is optimal
/// because a rank's time only grows (Fox 1966, "Discrete optimization via marginal
/// analysis"). Ranks that are alike differ by at most one image, the first ones
/// having it, unless an image takes them no time. The global batch has an image for
/// each rank and fits into `most`.
std::vector<std::size_t> balanced_images(const std::vector<RankCost>& costs,
                                         std::size_t global_batch,
                                         const std::vector<std::size_t>& most = {});

/// The same, or `now` where that gains less than 5 % of the slowest rank's time:
/// what is measured varies as much between ranks that are alike.
std::vector<std::size_t> rebalanced_images(const std::vector<RankCost>& costs,
                                           const std::vector<std::size_t>& now,
                                           const std::vector<std::size_t>& most = {});

/// The same, or `now` where either half of the stretch gains less than 5 %: ranks that
/// are slow in turn, for seconds, keep their images. `now`, too, where the time of a rank is
/// not known.
std::vector<std::size_t> steadily_rebalanced_images(const std::vector<MeasuredCost>& costs,
                                                    const std::vector<std::size_t>& now,
                                                    const std::vector<std::size_t>& most = {});

/// A global batch in the proportions of `parts`, in whole images, by largest
/// remainders; at least one for each rank, taken from those that have most.
std::vector<std::size_t> images_in_parts(const std::vector<double>& parts,
                                         std::size_t global_batch);

/// "43, 21"; of many ranks "20 to 43".
std::string images_text(const std::vector<std::size_t>& images);

}  // namespace rueda
