#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <string_view>

#include "base/error.hpp"
#include "predict/predict.hpp"
#include "record/run_json.hpp"
#include "study/rank_shares.hpp"

namespace rueda::predict {
namespace {

/// By the normal equations of rows that are divided by their y, whose right-hand side is then 1.
void solve(PairFit& fit, const std::vector<PairRow>& rows) {
  double aa = 0, ab = 0, bb = 0, sum_a = 0, sum_b = 0;
  for (const PairRow& row : rows) {
    const double a = row.a / row.y;
    const double b = row.b / row.y;
    aa += a * a;
    ab += a * b;
    bb += b * b;
    sum_a += a;
    sum_b += b;
  }
  const double determinant = aa * bb - ab * ab;
  fit.separable = determinant > 1e-9 * aa * bb;
  const double first = (sum_a * bb - sum_b * ab) / determinant;
  const double second = (sum_b * aa - sum_a * ab) / determinant;
  if (!fit.separable || first < 0) {
    fit.second = bb > 0 ? sum_b / bb : 0;
  } else if (second < 0) {
    fit.first = aa > 0 ? sum_a / aa : 0;
  } else {
    fit.first = first;
    fit.second = second;
  }
}

/// Of these phases of a mean full step.
template <Phase... phases>
double seconds_of(const RunResult& run) {
  return (... + run.summary.full_step.phases[std::size_t(phases)].mean);
}
constexpr auto compute_of = seconds_of<Phase::forward, Phase::loss, Phase::backward>;

double mean_batch(const RunResult& run) {
  return double(run.global_batch) / double(run.world_size());
}

bool has_no_full_step(const RunResult& run) {
  return run.summary.full_step.steps == 0 || !(compute_of(run) > 0);
}

Runs with_full_steps(Runs runs) {
  std::erase_if(runs, has_no_full_step);
  if (!runs.empty()) return runs;
  throw InputError(
      "no run to fit the compute time to: none has a full step of training; give the run.json of "
      "runs that finished an epoch, with a batch that is not larger than the data set, or "
      "--compute");
}

using Values = std::vector<double>;

/// Of each rank: seconds of each full step without waiting, of the epochs that
/// count. Nothing if the file is not there or has none.
std::vector<Values> step_seconds(const RunResult& run) {
  constexpr std::array<std::string_view, 5> kColumns = {"epoch", "global_samples", "seconds",
                                                        "all_reduce", "rank"};
  std::vector<Values> seconds(run.world_size());
  for_each_step(run.file.parent_path() / kStepsCsvName, kColumns, [&](std::span<const double> row) {
    const bool warm = row[0] > 1 || (row[0] == 1 && run.epochs.size() < 2);
    const bool full = row[1] == double(run.global_batch);
    const bool of_run = row[4] >= 0 && row[4] < double(seconds.size());
    const double value = row[2] - row[3];
    if (warm && full && of_run && std::isfinite(value))
      seconds[std::size_t(row[4])].push_back(value);
  });
  if (std::ranges::all_of(seconds, &Values::empty)) return {};
  return seconds;
}

Values joined(const std::vector<Values>& ranks) {
  Values all;
  for (const Values& rank : ranks) all.insert(all.end(), rank.begin(), rank.end());
  return all;
}

void append_relative(Values& all, const Values& values) {
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
  if (!(mean > 0)) return;
  for (const double value : values) all.push_back(value / mean);
}

constexpr std::array kQuantiles = {&Spread::min, &Spread::median, &Spread::p90, &Spread::max};
constexpr std::array kFigures = {&Spread::min, &Spread::mean, &Spread::median, &Spread::p90,
                                 &Spread::max};

/// The spreads of all ranks and epochs in one: the least and the most of all,
/// the means of median and 90th percentile. `own`: each relative to its mean.
Spread united(const RunResult& run, bool own) {
  Spread all{.min = INFINITY, .median = 0, .p90 = 0, .max = -INFINITY};
  double sum = 0;
  double spreads = 0;
  for (const EpochFigures& epoch : steady_epochs(run)) {
    for (const RankFigures& rank : epoch.of_ranks) {
      Spread one = rank.full_compute;
      if (one.count == 0) continue;
      const double unit = own ? one.mean : 1;
      for (const auto figure : kFigures) one.*figure /= unit;
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

/// Quantiles of the runs' united spreads, each relative to its mean, in the mean over runs. Its
/// count is 0 without any. `own`: relative to each rank's mean, where --balance speed would act.
Spread mean_spread(const Runs& runs, bool own) {
  Spread mean{.min = 0, .median = 0, .p90 = 0, .max = 0};
  double used = 0;
  for (const RunResult& run : runs) {
    const Spread one = united(run, own && shares_to_change(run));
    if (one.count == 0 || !(one.mean > 0)) continue;
    for (const auto quantile : kQuantiles) mean.*quantile += one.*quantile / one.mean;
    mean.count += one.count;
    used += 1;
  }
  for (const auto quantile : kQuantiles) mean.*quantile /= used;
  return mean;
}

NoiseFit from_spreads(const Runs& runs) {
  const Spread all = mean_spread(runs, false);
  if (all.count == 0) return {};
  return {Distribution::of_spread(all), Distribution::of_spread(mean_spread(runs, true)), all.count,
          false};
}

/// The time at which all ranks are ready with parts by speed, relative to the mean of their times.
double ideal_by_mean(const RankShares& shares) {
  double rate = 0;   // images a second
  double spent = 0;  // seconds of all ranks
  double images = 0;
  for (std::size_t rank = 0; rank < shares.costs.size(); ++rank) {
    const double of_image = shares.costs[rank].per_image;
    rate += 1 / of_image;
    spent += of_image * double(shares.images[rank]);
    images += double(shares.images[rank]);
  }
  return images / rate / (spent / double(shares.costs.size()));
}

bool says_nothing(const PairRow& row) { return !(row.y > 0) || !std::isfinite(row.y); }

double sum_of(const Runs& runs, double (*value)(const RunResult&)) {
  return std::transform_reduce(runs.begin(), runs.end(), 0.0, std::plus(), value);
}

}  // namespace

PairFit fit_pair(std::vector<PairRow> rows) {
  std::erase_if(rows, says_nothing);
  PairFit fit;
  if (rows.empty()) return fit;
  solve(fit, rows);
  double squares = 0;
  for (const PairRow& row : rows) {
    const double error = (row.a * fit.first + row.b * fit.second) / row.y - 1;
    squares += error * error;
  }
  fit.typical_error = std::sqrt(squares / double(rows.size()));
  return fit;
}

ComputeFit fit_compute(const Runs& all) {
  const auto runs = with_full_steps(all);

  ComputeFit result;
  std::vector<PairRow> rows;
  for (const RunResult& run : runs) {
    const auto micro = double(run.config.batch.accumulate);
    rows.push_back({1, mean_batch(run) / micro, compute_of(run) / micro});
  }
  result.fit = fit_pair(rows);
  result.runs = runs.size();
  result.model = {
      .fixed = result.fit.first,
      .per_image = result.fit.second,
      .backward_share = sum_of(runs, seconds_of<Phase::backward>) / sum_of(runs, compute_of),
      .input_per_image =
          sum_of(runs, seconds_of<Phase::load, Phase::copy>) / sum_of(runs, mean_batch),
      .update = sum_of(runs, seconds_of<Phase::optimizer, Phase::other>) / double(runs.size())};
  return result;
}

NoiseFit fit_noise(const Runs& runs) {
  Values all, own;
  for (const RunResult& run : runs) {
    const std::vector<Values> ranks = step_seconds(run);
    if (ranks.empty()) return from_spreads(runs);
    append_relative(all, joined(ranks));
    if (shares_to_change(run))
      for (const Values& rank : ranks) append_relative(own, rank);
    else
      append_relative(own, joined(ranks));
  }
  if (all.empty()) return from_spreads(runs);
  return {Distribution::of_sample(all), Distribution::of_sample(own), all.size(), true};
}

std::optional<double> fit_speed_shares(const Runs& runs) {
  double sum = 0;
  double ranks = 0;
  for (const RunResult& run : runs) {
    if (run.world_size() < 2) continue;
    const auto shares = shares_to_change(run);
    const auto weight = double(run.world_size());
    sum += weight * (shares ? ideal_by_mean(*shares) : 1);
    ranks += weight;
  }
  if (ranks == 0) return std::nullopt;
  return sum / ranks;
}

}  // namespace rueda::predict
