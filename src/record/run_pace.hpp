#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rueda/train/run_record.hpp"
#include "rueda/train/timings.hpp"

namespace rueda {

/// A step that takes longer is a gap: five usual ones, and a second at least,
/// because a busy machine stops any process for some tenths. `usual` is seconds;
/// NaN, not known yet: none is a gap.
inline double gap_limit(double usual) {
  return std::isnan(usual) ? INFINITY : std::max(1.0, 5 * usual);
}

/// How fast a run goes, from the times of its steps: what a step usually takes,
/// when the run ends, and its longest gap. A single long step changes neither of
/// the first two, because they follow from medians.
class RunPace {
 public:
  struct Length {
    std::size_t epochs = 1;
    std::size_t steps = 1;       ///< of an epoch
    std::size_t eval_every = 0;  ///< epochs; 0: never
  };
  /// `stride`: `add` gets every so many-th rank.
  explicit RunPace(const Length& length, std::size_t stride = 1)
      : length_(length), stride_(stride) {}

  /// A step: the times of the ranks in it.
  void add(std::size_t epoch, std::size_t step, std::span<const RankTimes> ranks);
  /// An epoch has ended, and its records are gathered: for a gap of no rank, `StepGap::waited`.
  void compare_messages(const EpochRecord& epoch);
  /// A whole evaluation.
  void add_evaluation(double seconds) { evaluation_ = seconds; }

  /// Seconds of a step; NaN before there are three.
  double usual_step() const;
  /// Seconds of all steps and evaluations that follow a step of an epoch, both
  /// from 1; NaN as long as usual_step is. Evaluations count once one is known.
  double left_after(std::size_t epoch, std::size_t step) const;
  /// Seconds that are left in the evaluation after an epoch, of which `done` of `of` images
  /// took so many seconds.
  double left_in_evaluation(std::size_t epoch, double done, double of, double seconds) const;

  /// The longest so far.
  const std::optional<StepGap>& longest_gap() const { return gap_; }
  /// The same, if it, or who waited in it, is new since the last call.
  std::optional<StepGap> take_gap() { return std::exchange(is_new_, false) ? gap_ : std::nullopt; }

 private:
  static constexpr std::size_t kKept = 255;  ///< steps of which the median is taken
  static constexpr std::size_t kLeast = 3;

  std::size_t evaluations_from(std::size_t epoch) const;

  Length length_;
  std::size_t stride_;
  std::vector<double> last_;  ///< seconds of the last steps, in any order
  std::size_t next_ = 0;      ///< where the next one goes
  double evaluation_ = 0;
  std::optional<StepGap> gap_;
  bool is_new_ = false;
};

/// "step 33 of epoch 1 took 8.25 s, 33 times the usual 0.25 s: rank 1 on b, in
/// forward". Where no rank was late by itself: "in the all-reduce: rank 2 on c
/// waited first, 7.9 s for rank 1 on b", or "in the all-reduce, of no rank in
/// particular".
std::string gap_text(const StepGap& gap, const std::vector<RankInfo>& ranks);

}  // namespace rueda
