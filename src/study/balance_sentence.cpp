#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "study/sentence.hpp"
#include "train/balance.hpp"

namespace rueda {
namespace {

/// What a run's ranks cost in its last steady epoch, and the images that they had.
struct Shares {
  std::vector<RankCost> costs;
  std::vector<std::size_t> images;
};

/// By means over the epoch's steps. None where a rank had no image.
std::optional<Shares> shares_of(const RunResult& run) {
  const EpochFigures& epoch = steady_epochs(run).back();
  Shares shares{.costs = {}, .images = batches_of(run, epoch)};
  if (shares.images.size() != epoch.of_ranks.size()) return std::nullopt;
  for (const RankFigures& rank : epoch.of_ranks) {
    if (rank.samples == 0 || epoch.steps == 0) return std::nullopt;
    const auto of = [&](Phase phase) { return rank.phases[std::size_t(phase)]; };
    const double all = std::accumulate(rank.phases.begin(), rank.phases.end(), 0.0);
    const double fixed = of(Phase::optimizer) + of(Phase::other);
    const double by_images = all - of(Phase::all_reduce) - fixed;
    if (!(by_images > 0)) return std::nullopt;
    shares.costs.push_back({fixed / double(epoch.steps), by_images / double(rank.samples)});
  }
  return shares;
}

/// Whether --balance speed would change the parts of the batch.
bool would_change(const RunResult* run) {
  const auto shares = shares_of(*run);
  return shares && rebalanced_images(shares->costs, shares->images) != shares->images;
}

}  // namespace

Sentence what_balance_would_bring(const PointFigures& f) {
  const bool known = f.run != nullptr && f.ranks() > 1 && !f.point->oversubscribed;
  if (!known || balance_of(*f.run) == "speed") return {};
  if (!std::ranges::all_of(f.point->runs, would_change)) return {};
  const Shares shares = *shares_of(*f.run);
  const auto images = rebalanced_images(shares.costs, shares.images);
  const double now = slowest_seconds(shares.costs, shares.images);
  const double then = slowest_seconds(shares.costs, images);
  return fmt::format(
      "The ranks are not equally fast: the slowest of {} computes a step in {:.1f} ms. With "
      "--balance speed all would be ready after about {:.1f} ms ({} less), with {} images in place "
      "of {}.",
      f.ranks(), now * 1e3, then * 1e3, percent(1 - then / now), images_text(images),
      images_text(shares.images));
}

}  // namespace rueda
