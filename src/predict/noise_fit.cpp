#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

#include "rueda/predict/cost_fit.hpp"
#include "rueda/record/run_json.hpp"

namespace rueda::predict {
namespace {

/// Seconds of each full step of each rank without waiting, of the epochs that count. Empty if the
/// file is not there or is none.
std::vector<double> step_seconds(const RunResult& run) {
  constexpr std::array<std::string_view, 4> kColumns = {"epoch", "global_samples", "seconds",
                                                        "all_reduce"};
  std::vector<double> seconds;
  for_each_step(run.file.parent_path() / kStepsCsvName, kColumns, [&](std::span<const double> row) {
    const bool warm = row[0] > 1 || (row[0] == 1 && run.epochs.size() < 2);
    const bool full = row[1] == double(run.global_batch);
    const double value = row[2] - row[3];
    if (warm && full && std::isfinite(value)) seconds.push_back(value);
  });
  return seconds;
}

void append_relative(std::vector<double>& all, const std::vector<double>& values) {
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
  if (!(mean > 0)) return;
  for (const double value : values) all.push_back(value / mean);
}

constexpr std::array kQuantiles = {&Spread::min, &Spread::median, &Spread::p90, &Spread::max};

/// The spreads of all ranks and epochs in one: the least and the most of all, the means of median
/// and 90th percentile.
Spread united(const RunResult& run) {
  Spread all{.min = INFINITY, .max = -INFINITY};
  double sum = 0;
  double spreads = 0;
  for (const EpochResult* epoch : steady_epochs(run)) {
    for (const RankEpoch& rank : epoch->ranks) {
      const Spread& one = rank.full_compute;
      if (one.count == 0) continue;
      all.min = std::min(all.min, one.min);
      all.max = std::max(all.max, one.max);
      all.median += one.median;
      all.p90 += one.p90;
      sum += one.mean * double(one.count);
      all.count += one.count;
      spreads += 1;
    }
  }
  all.mean = sum / double(all.count);
  all.median /= spreads;
  all.p90 = std::max(all.p90 / spreads, all.median);
  return all;
}

/// Quantiles of the runs' united spreads, each relative to its mean, in the mean over runs.
NoiseFit from_spreads(const std::vector<RunResult>& runs) {
  Spread mean;
  double used = 0;
  for (const RunResult& run : runs) {
    const Spread one = united(run);
    if (one.count == 0 || !(one.mean > 0)) continue;
    for (const auto quantile : kQuantiles) mean.*quantile += one.*quantile / one.mean;
    mean.count += one.count;
    used += 1;
  }
  if (used == 0) return {};
  for (const auto quantile : kQuantiles) mean.*quantile /= used;
  return {Distribution::of_spread(mean), mean.count, false};
}

}  // namespace

NoiseFit fit_noise(const std::vector<RunResult>& runs) {
  std::vector<double> all;
  bool complete = true;
  for (const RunResult& run : runs) {
    const auto values = step_seconds(run);
    complete = complete && !values.empty();
    if (!values.empty()) append_relative(all, values);
  }
  if (!complete || all.empty()) return from_spreads(runs);
  const std::size_t samples = all.size();
  return {Distribution::of_sample(std::move(all)), samples, true};
}

}  // namespace rueda::predict
