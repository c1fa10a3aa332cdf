#include "display/advice.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "display/text.hpp"

namespace rueda {
namespace {

constexpr double kExposedTooLong = 0.1;  // of a step
constexpr double kWorthChanging = 0.02;  // of a step
constexpr double kExposedTooMuch = 0.2;  // of the all-reduce
constexpr double kMost = 0.5;

/// The exposed all-reduce of a mean step, and its parts (docs/metrics.md, "Exposed, by step").
struct Exposed {
  double all = 0;      ///< share of a step
  double waiting = 0;  ///< share of it: for ranks that came later
  /// Transfer and adding: share of a step.
  double sum() const { return all * (1 - waiting); }
};

Exposed exposed_of(const StepBreakdown& b) {
  const double all = b.phases[kAllReduce].mean;
  if (!(all > 0) || std::isnan(b.exposed_transfer)) return {};
  return {all / b.step.mean, 1 - b.exposed_transfer / all};
}

/// Why the rank may be late; empty where no other has fewer images.
std::string more_images(const RunRecord& run, std::size_t rank) {
  std::vector<std::size_t> others = run.rank_batches;
  const std::size_t own = others.at(rank);
  others.erase(others.begin() + std::ptrdiff_t(rank));
  const auto [least, most] = std::ranges::minmax(others);
  if (own <= least) return "";
  std::string range = std::to_string(least);
  if (most > least) range += fmt::format(" to {}", most);
  return fmt::format(" (with {}, others with {})", counted(own, "image"), range);
}

std::string waiting_advice(const RunRecord& run, const StepBreakdown& b, const Exposed& exposed) {
  if (exposed.all <= kExposedTooLong || exposed.waiting < kMost) return "";
  const LateRank& late = b.latest;
  const double waited = b.phases[kAllReduce].mean * exposed.waiting;
  std::string whom = "ranks that were late in turn";
  if (late.useful >= kMost * waited)
    whom =
        fmt::format("rank {} on {}{}, {} ms late ({} {})", late.rank, run.ranks.at(late.rank).host,
                    more_images(run, late.rank), rate_text(late.useful * 1e3),
                    kPhaseNames[late.phase], rate_text(late.seconds * 1e3));
  return fmt::format(
      "{:.0f} % of a step is waiting for {}: no other all-reduce or bucket size helps",
      100 * exposed.all * exposed.waiting, whom);
}

/// Where much of the all-reduce is exposed in spite of overlap, with buckets of a fixed size.
std::string bucket_advice(const RunRecord& run, const StepBreakdown& b, const Exposed& exposed) {
  const bool matters = bucket_size_matters(run.config, run.overlaps);
  if (!matters || measures_bucket_size(run.config, run.overlaps)) return "";
  const double share = b.phases[kAllReduce].mean / b.busy.mean;
  if (!(share > kExposedTooMuch) || exposed.sum() <= kWorthChanging) return "";
  return fmt::format(
      "{:.0f} % of the all-reduce is exposed: --bucket-mb auto measures which buckets hide most of "
      "it, and may change the last bits",
      100 * share);
}

/// Where transfer and adding take long and `--all-reduce auto` sums otherwise here.
std::string sum_advice(const RunRecord& run, const StepBreakdown& b, const Exposed& exposed) {
  if (exposed.sum() <= kExposedTooLong || run.auto_all_reduce.empty())
    return bucket_advice(run, b, exposed);
  return fmt::format(
      "Exposed transfer and adding take {:.0f} % of a step: --all-reduce auto ({}) may be faster, "
      "with other last bits",
      100 * exposed.sum(), run.auto_all_reduce);
}

/// Where most of a step goes into sums between hosts, a link may be slow, and no setting mends
/// that.
std::string link_advice(const RunRecord& run, const Exposed& exposed) {
  const auto is_first = [&run](const RankInfo& rank) { return rank.host == run.ranks[0].host; };
  if (exposed.sum() <= kMost || std::ranges::all_of(run.ranks, is_first)) return "";
  return fmt::format(
      "Exposed transfer and adding take {:.0f} % of a step: rueda doctor, started as this run, "
      "measures the links and names a slow one",
      100 * exposed.sum());
}

}  // namespace

std::string all_reduce_advice(const RunRecord& run, const StepBreakdown& b) {
  if (b.steps == 0 || run.ranks.size() < 2) return "";
  const Exposed exposed = exposed_of(b);
  std::string advice = waiting_advice(run, b, exposed);
  if (advice.empty()) advice = link_advice(run, exposed);
  if (advice.empty()) advice = sum_advice(run, b, exposed);
  return advice;
}

}  // namespace rueda
