#include "train/balance.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/statistics.hpp"

namespace rueda {
namespace {

constexpr std::size_t kShown = 8;  // ranks, one by one

bool pays(const std::vector<RankCost>& costs, const std::vector<std::size_t>& now,
          const std::vector<std::size_t>& next) {
  return slowest_seconds(costs, next) <= (1 - kLeastGainOfBalance) * slowest_seconds(costs, now);
}

std::vector<RankCost> of_ranks(const std::vector<MeasuredCost>& costs,
                               RankCost MeasuredCost::*part) {
  std::vector<RankCost> some;
  for (const MeasuredCost& cost : costs) some.push_back(cost.*part);
  return some;
}

RankCost median_cost(std::span<const RankCost> steps) {
  std::vector<double> fixed, per_image;
  for (const RankCost& step : steps) {
    fixed.push_back(step.fixed);
    per_image.push_back(step.per_image);
  }
  return {median_of(fixed), median_of(per_image)};
}

/// Images with which each rank is ready by a moment, one at least.
std::vector<std::size_t> images_ready_by(double moment, const std::vector<RankCost>& costs,
                                         std::size_t global_batch,
                                         const std::vector<std::size_t>& most) {
  std::vector<std::size_t> images;
  for (std::size_t rank = 0; rank < costs.size(); ++rank) {
    const std::size_t limit = most.empty() ? global_batch : std::max<std::size_t>(most[rank], 1);
    const double left = moment - costs[rank].fixed;
    double fit = 1;
    if (left > 0) fit = left / costs[rank].per_image;  // infinite where an image takes no time
    images.push_back(std::size_t(std::clamp(fit, 1.0, double(limit))));
  }
  return images;
}

/// Most of the images that balanced_images gives, found by bisection: the moment until which all
/// ranks together take less than the batch. So the time does not grow with the images.
std::vector<std::size_t> images_ready_early(const std::vector<RankCost>& costs,
                                            std::size_t global_batch,
                                            const std::vector<std::size_t>& most) {
  constexpr int kHalvings = 50;
  double early = 0;
  double late = slowest_seconds(costs, std::vector(costs.size(), global_batch));
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (early + late) / 2;
    const auto images = images_ready_by(middle, costs, global_batch, most);
    if (std::accumulate(images.begin(), images.end(), std::size_t{0}) < global_batch)
      early = middle;
    else
      late = middle;
  }
  return images_ready_by(early * (1 - 1e-12), costs, global_batch, most);
}

}  // namespace

MeasuredCost measured_cost(const std::vector<RankCost>& steps) {
  if (steps.size() < kLeastStepsOfBalance) return {};
  const std::span all(steps);
  const std::size_t half = steps.size() / 2;
  return {median_cost(all), median_cost(all.first(half)), median_cost(all.subspan(half))};
}

double slowest_seconds(const std::vector<RankCost>& costs, const std::vector<std::size_t>& images) {
  double slowest = 0;
  for (std::size_t rank = 0; rank < costs.size(); ++rank)
    slowest = std::max(slowest, costs[rank].seconds(images[rank]));
  return slowest;
}

std::vector<std::size_t> balanced_images(const std::vector<RankCost>& costs,
                                         std::size_t global_batch,
                                         const std::vector<std::size_t>& most) {
  using Turn = std::pair<double, std::size_t>;  // ready with one image more; rank
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
  std::vector<std::size_t> images = images_ready_early(costs, global_batch, most);
  const auto queue = [&](std::size_t rank) {
    if (most.empty() || images[rank] < most[rank])
      turns.emplace(costs[rank].seconds(images[rank] + 1), rank);
  };
  for (std::size_t rank = 0; rank < costs.size(); ++rank) queue(rank);
  const std::size_t given = std::accumulate(images.begin(), images.end(), std::size_t{0});
  for (std::size_t left = global_batch - given; left > 0 && !turns.empty(); --left) {
    const std::size_t rank = turns.top().second;
    turns.pop();
    ++images[rank];
    queue(rank);
  }
  return images;
}

std::vector<std::size_t> rebalanced_images(const std::vector<RankCost>& costs,
                                           const std::vector<std::size_t>& now,
                                           const std::vector<std::size_t>& most) {
  const std::size_t global_batch = std::accumulate(now.begin(), now.end(), std::size_t{0});
  auto images = balanced_images(costs, global_batch, most);
  return pays(costs, now, images) ? images : now;
}

std::vector<std::size_t> steadily_rebalanced_images(const std::vector<MeasuredCost>& costs,
                                                    const std::vector<std::size_t>& now,
                                                    const std::vector<std::size_t>& most) {
  const bool known = std::ranges::all_of(costs, [](auto& c) { return c.all.per_image > 0; });
  if (!known) return now;
  auto images = rebalanced_images(of_ranks(costs, &MeasuredCost::all), now, most);
  const bool steady = pays(of_ranks(costs, &MeasuredCost::first_half), now, images) &&
                      pays(of_ranks(costs, &MeasuredCost::second_half), now, images);
  return steady ? images : now;
}

std::vector<std::size_t> images_in_parts(const std::vector<double>& parts,
                                         std::size_t global_batch) {
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  std::vector<std::size_t> images;
  std::vector<std::pair<double, std::size_t>>
      remainders;  // negative, so that the largest are first
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    const double exact = parts[rank] * double(global_batch) / sum;
    images.push_back(std::size_t(exact));
    remainders.emplace_back(double(images.back()) - exact, rank);
  }
  std::ranges::sort(remainders);
  std::size_t left = global_batch - std::accumulate(images.begin(), images.end(), std::size_t{0});
  for (std::size_t i = 0; left > 0; ++i, --left) ++images[remainders[i % parts.size()].second];
  for (std::size_t& mine : images) {
    if (mine > 0) continue;
    --*std::ranges::max_element(images);
    mine = 1;
  }
  return images;
}

std::string images_text(const std::vector<std::size_t>& images) {
  if (images.size() <= kShown) return fmt::format("{}", fmt::join(images, ", "));
  const auto [least, most] = std::ranges::minmax(images);
  return fmt::format("{} to {}", least, most);
}

}  // namespace rueda
