#include "record/run_pace.hpp"

#include <fmt/format.h>

#include "base/statistics.hpp"
#include "record/first_wait.hpp"

namespace rueda {
namespace {

/// A rank is the cause of a gap that has at least so much of it outside the all-reduce.
constexpr double kOwnPart = 0.5;

/// Where the slot of a rank was longest in comparison with the others, the all-reduce apart.
std::size_t longest_phase(std::span<const RankTimes> ranks, std::size_t slot) {
  std::size_t longest = 0;
  double most = -INFINITY;
  for (std::size_t p = 0; p < kPhases; ++p) {
    if (p == std::size_t(Phase::all_reduce)) continue;
    std::vector<double> seconds;
    for (const RankTimes& rank : ranks) seconds.push_back(double(rank.phases[p]));
    double excess = seconds[slot];
    if (ranks.size() > 1) excess -= median_of_others(seconds, slot);
    if (excess <= most) continue;
    most = excess;
    longest = p;
  }
  return longest;
}

/// Rank and phase of a step that took `excess` seconds more than usual.
void find_cause(StepGap& gap, std::span<const RankTimes> ranks, std::size_t stride, double excess) {
  const auto latest = std::ranges::max_element(ranks, {}, &RankTimes::useful);
  const auto slot = std::size_t(latest - ranks.begin());
  std::vector<double> useful;
  for (const RankTimes& rank : ranks) useful.push_back(rank.useful());
  double others = gap.usual;
  if (ranks.size() > 1) others = median_of_others(useful, slot);
  gap.phase = std::size_t(Phase::all_reduce);
  if (useful[slot] - others < kOwnPart * excess) return;
  gap.rank = slot * stride;
  gap.phase = longest_phase(ranks, slot);
}

}  // namespace

void RunPace::add(std::size_t epoch, std::size_t step, std::span<const RankTimes> ranks) {
  if (ranks.empty()) return;
  const double seconds = std::ranges::max(ranks, {}, &RankTimes::step).step();
  const double usual = usual_step();
  if (seconds > gap_limit(usual) && (!gap_ || seconds > gap_->seconds)) {
    gap_ = StepGap{.seconds = seconds, .epoch = epoch, .step = step, .rank = {}, .usual = usual};
    find_cause(*gap_, ranks, stride_, seconds - usual);
    is_new_ = true;
  }
  if (last_.size() < kKept) last_.resize(last_.size() + 1);
  last_[next_] = seconds;
  next_ = (next_ + 1) % kKept;
}

void RunPace::compare_messages(const EpochRecord& epoch) {
  if (!gap_ || gap_->rank || gap_->compared || gap_->epoch != epoch.epoch) return;
  gap_->compared = true;
  gap_->waited = first_wait(epoch, gap_->step, kOwnPart * (gap_->seconds - gap_->usual));
  is_new_ = is_new_ || gap_->waited;
}

double RunPace::usual_step() const {
  if (last_.size() < kLeast) return NAN;
  return median_of(last_);
}

/// As Evaluator::due has them.
std::size_t RunPace::evaluations_from(std::size_t epoch) const {
  if (length_.eval_every == 0 || epoch > length_.epochs) return 0;
  const auto regular = length_.epochs / length_.eval_every - (epoch - 1) / length_.eval_every;
  if (length_.epochs % length_.eval_every == 0) return regular;
  return regular + 1;
}

double RunPace::left_after(std::size_t epoch, std::size_t step) const {
  const double steps = double((length_.epochs + 1 - epoch) * length_.steps) - double(step);
  return usual_step() * steps + evaluation_ * double(evaluations_from(epoch));
}

double RunPace::left_in_evaluation(std::size_t epoch, double done, double of,
                                   double seconds) const {
  double rest = evaluation_;
  if (done > 0) rest = seconds / done * (of - done);
  if (epoch >= length_.epochs) return rest;
  return rest + left_after(epoch + 1, 0);
}

namespace {

std::string cause_of(const StepGap& gap, const std::vector<RankInfo>& ranks) {
  const auto name = [&ranks](std::size_t rank) {
    return fmt::format("rank {} on {}", rank, ranks.at(rank).host);
  };
  if (gap.rank) return fmt::format("{}, in {}", name(*gap.rank), kPhaseNames[gap.phase]);
  if (!gap.compared) return "in the all-reduce; ranks are compared after the epoch";
  if (!gap.waited) return "in the all-reduce, of no rank in particular";
  const auto& [rank, peer, seconds, mutual] = *gap.waited;
  if (mutual) {
    return fmt::format("in the all-reduce: {} and {} waited first, {:.3g} s for each other",
                       name(rank), name(peer), seconds);
  }
  return fmt::format("in the all-reduce: {} waited first, {:.3g} s for {}", name(rank), seconds,
                     name(peer));
}

}  // namespace

std::string gap_text(const StepGap& gap, const std::vector<RankInfo>& ranks) {
  return fmt::format("step {} of epoch {} took {:.3g} s, {:.0f} times the usual {:.3g} s: {}",
                     gap.step, gap.epoch, gap.seconds, gap.seconds / gap.usual, gap.usual,
                     cause_of(gap, ranks));
}

}  // namespace rueda
