#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "rueda/core/error.hpp"
#include "rueda/predict/cost_fit.hpp"

namespace rueda::predict {
namespace {

/// The normal equations of rows that are divided by their y, whose right-hand side is then 1.
struct Sums {
  double aa = 0, ab = 0, bb = 0, a = 0, b = 0;
};

Sums sums_of(const std::vector<PairRow>& rows) {
  Sums s;
  for (const PairRow& row : rows) {
    const double a = row.a / row.y;
    const double b = row.b / row.y;
    s.aa += a * a;
    s.ab += a * b;
    s.bb += b * b;
    s.a += a;
    s.b += b;
  }
  return s;
}

double only(double sum, double square) { return square > 0 ? sum / square : 0; }

void solve(PairFit& fit, const Sums& s) {
  const double determinant = s.aa * s.bb - s.ab * s.ab;
  fit.separable = determinant > 1e-9 * s.aa * s.bb;
  if (!fit.separable) {
    fit.second = only(s.b, s.bb);
    return;
  }
  fit.first = (s.a * s.bb - s.b * s.ab) / determinant;
  fit.second = (s.b * s.aa - s.a * s.ab) / determinant;
  if (fit.first < 0) {
    fit.first = 0;
    fit.second = only(s.b, s.bb);
  } else if (fit.second < 0) {
    fit.second = 0;
    fit.first = only(s.a, s.aa);
  }
}

double mean_of(const RunResult& run, Phase phase) {
  return run.steady_full_step.phases[static_cast<std::size_t>(phase)].mean;
}

double mean_batch(const RunResult& run) {
  return double(run.global_batch) / double(run.world_size());
}

double compute_of(const RunResult& run) {
  return mean_of(run, Phase::forward) + mean_of(run, Phase::loss) + mean_of(run, Phase::backward);
}

double input_of(const RunResult& run) {
  return mean_of(run, Phase::load) + mean_of(run, Phase::copy);
}

double update_of(const RunResult& run) {
  return mean_of(run, Phase::optimizer) + mean_of(run, Phase::other);
}

std::vector<RunResult> with_full_steps(std::vector<RunResult> runs) {
  std::erase_if(runs, [](const RunResult& run) {
    return run.steady_full_step.count == 0 || !(compute_of(run) > 0);
  });
  if (!runs.empty()) return runs;
  throw InputError(
      "no run to fit the compute time to: none has a full step of training; give the run.json of "
      "runs that finished an epoch, with a batch that is not larger than the data set, or "
      "--compute");
}

}  // namespace

PairFit fit_pair(const std::vector<PairRow>& all) {
  std::vector<PairRow> rows;
  for (const PairRow& row : all) {
    if (row.y > 0 && std::isfinite(row.y)) rows.push_back(row);
  }
  PairFit fit;
  fit.rows = rows.size();
  if (rows.empty()) return fit;
  solve(fit, sums_of(rows));
  double squares = 0;
  for (const PairRow& row : rows) {
    const double error = (row.a * fit.first + row.b * fit.second) / row.y - 1;
    squares += error * error;
  }
  fit.typical_error = std::sqrt(squares / double(rows.size()));
  return fit;
}

ComputeFit fit_compute(const std::vector<RunResult>& all) {
  const auto runs = with_full_steps(all);
  const auto sum = [&](const auto& of) {
    return std::transform_reduce(runs.begin(), runs.end(), 0.0, std::plus(), of);
  };
  ComputeFit result;
  std::vector<PairRow> rows;
  std::set<std::size_t> batches;
  for (const RunResult& run : runs) {
    const auto micro = double(run.micro_batches);
    rows.push_back({1, mean_batch(run) / micro, compute_of(run) / micro});
    batches.insert(run.rank_batches.front() / run.micro_batches);
  }
  result.fit = fit_pair(rows);
  result.batches.assign(batches.begin(), batches.end());
  result.runs = runs.size();
  const auto backward = [](const RunResult& run) { return mean_of(run, Phase::backward); };
  result.model = {result.fit.first, result.fit.second, sum(backward) / sum(compute_of),
                  sum(input_of) / sum(mean_batch), sum(update_of) / double(runs.size())};
  return result;
}

}  // namespace rueda::predict
