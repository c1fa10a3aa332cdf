#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "rueda/predict/compute_fit.hpp"
#include "rueda/report/run_json.hpp"

namespace rueda::predict {
namespace {

/// Columns of steps.csv by number.
struct Columns {
  std::size_t epoch = 0, global_samples = 0, seconds = 0, all_reduce = 0;
};

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> result;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) result.push_back(cell);
  return result;
}

std::optional<Columns> columns_of(const std::vector<std::string>& names) {
  const auto find = [&](const char* name) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  const Columns columns{find("epoch"), find("global_samples"), find("seconds"), find("all_reduce")};
  for (const std::size_t column :
       {columns.epoch, columns.global_samples, columns.seconds, columns.all_reduce}) {
    if (column == names.size()) return std::nullopt;
  }
  return columns;
}

double number(const std::vector<std::string>& row, std::size_t column) {
  return column < row.size() ? std::strtod(row[column].c_str(), nullptr) : kUnknown;
}

/// Seconds of each full step of each rank without waiting, of the epochs that count. Empty if the
/// file is not there or is none.
std::vector<double> step_seconds(const RunResult& run) {
  std::ifstream file(run.file.parent_path() / kStepsCsvName);
  std::string line;
  if (!std::getline(file, line)) return {};
  const auto columns = columns_of(cells(line));
  if (!columns) return {};
  std::vector<double> seconds;
  while (std::getline(file, line)) {
    const auto row = cells(line);
    const bool warm = number(row, columns->epoch) > 1 || run.epochs.size() < 2;
    const bool full = number(row, columns->global_samples) == static_cast<double>(run.global_batch);
    const double value = number(row, columns->seconds) - number(row, columns->all_reduce);
    if (warm && full && std::isfinite(value)) seconds.push_back(value);
  }
  return seconds;
}

void append_relative(std::vector<double>& all, const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  if (!(mean > 0)) return;
  for (const double value : values) all.push_back(value / mean);
}

/// The spreads of all ranks and epochs in one: the least and the most of all, the means of median
/// and 90th percentile.
Spread united(const RunResult& run) {
  Spread all;
  double sum = 0;
  double spreads = 0;
  for (const EpochResult* epoch : steady_epochs(run)) {
    for (const RankEpoch& rank : epoch->ranks) {
      const Spread& one = rank.full_compute;
      if (one.count == 0) continue;
      all.min = all.count == 0 ? one.min : std::min(all.min, one.min);
      all.max = all.count == 0 ? one.max : std::max(all.max, one.max);
      all.median += one.median;
      all.p90 += one.p90;
      sum += one.mean * static_cast<double>(one.count);
      all.count += one.count;
      spreads += 1;
    }
  }
  if (all.count == 0) return all;
  all.mean = sum / static_cast<double>(all.count);
  all.median /= spreads;
  all.p90 = std::max(all.p90 / spreads, all.median);
  return all;
}

/// Quantiles of the runs' united spreads, each beside its mean, in the mean over runs.
NoiseFit from_spreads(const std::vector<RunResult>& runs) {
  Spread mean;
  double used = 0;
  for (const RunResult& run : runs) {
    const Spread one = united(run);
    if (one.count == 0 || !(one.mean > 0)) continue;
    mean.min += one.min / one.mean;
    mean.median += one.median / one.mean;
    mean.p90 += one.p90 / one.mean;
    mean.max += one.max / one.mean;
    mean.count += one.count;
    used += 1;
  }
  if (used == 0) return {};
  for (double* value : {&mean.min, &mean.median, &mean.p90, &mean.max}) *value /= used;
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
