#include "study/rank_shares.hpp"

#include <numeric>

namespace rueda {
namespace {

/// No time per image where the rank had none.
RankCost cost_of(const RankFigures& rank, std::size_t steps) {
  if (rank.samples == 0 || steps == 0) return {};
  const auto of = [&](Phase phase) { return rank.phases[std::size_t(phase)]; };
  const double all = std::accumulate(rank.phases.begin(), rank.phases.end(), 0.0);
  const double fixed = of(Phase::optimizer) + of(Phase::other);
  const double by_images = all - of(Phase::all_reduce) - fixed;
  return {fixed / double(steps), by_images / double(rank.samples)};
}

}  // namespace

std::optional<RankShares> shares_to_change(const RunResult& run) {
  const EpochFigures& epoch = steady_epochs(run).back();
  RankShares shares{.costs = {}, .images = batches_of(run, epoch), .by_speed = {}};
  const bool known = shares.images.size() == epoch.of_ranks.size();
  if (!known || run.world_size() < 2 || balance_of(run) == "speed") return std::nullopt;
  for (const RankFigures& rank : epoch.of_ranks) {
    shares.costs.push_back(cost_of(rank, epoch.steps));
    if (!(shares.costs.back().per_image > 0)) return std::nullopt;
  }
  shares.by_speed = rebalanced_images(shares.costs, shares.images);
  if (shares.by_speed == shares.images) return std::nullopt;
  return shares;
}

}  // namespace rueda
