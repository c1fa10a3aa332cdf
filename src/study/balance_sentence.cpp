#include <algorithm>

#include <fmt/format.h>

#include "study/rank_shares.hpp"
#include "study/sentence.hpp"

namespace rueda {

Sentence what_balance_would_bring(const PointFigures& f) {
  if (f.run == nullptr || f.point->oversubscribed) return {};
  const auto would_change = [](const RunResult* run) { return shares_to_change(*run).has_value(); };
  if (!std::ranges::all_of(f.point->runs, would_change)) return {};
  const RankShares shares = *shares_to_change(*f.run);
  const double now = slowest_seconds(shares.costs, shares.images);
  const double then = slowest_seconds(shares.costs, shares.by_speed);
  return fmt::format(
      "The ranks are not equally fast: the slowest of {} computes a step in {:.1f} ms. With "
      "--balance speed all would be ready after about {:.1f} ms ({} less), with {} images in place "
      "of {}.",
      f.ranks(), now * 1e3, then * 1e3, percent(1 - then / now), images_text(shares.by_speed),
      images_text(shares.images));
}

}  // namespace rueda
