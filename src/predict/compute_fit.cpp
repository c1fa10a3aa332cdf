#include "compute_fit.hpp"

#include <algorithm>
#include <set>

#include "rueda/core/error.hpp"

namespace rueda::predict {
namespace {

double mean_of(const RunResult& run, Phase phase) {
  return run.steady_full_step.phases[static_cast<std::size_t>(phase)].mean;
}

double mean_batch(const RunResult& run) {
  return static_cast<double>(run.global_batch) / static_cast<double>(run.world_size());
}

double compute_of(const RunResult& run) {
  return mean_of(run, Phase::forward) + mean_of(run, Phase::loss) + mean_of(run, Phase::backward);
}

/// Sums over runs that have a full step.
struct Sums {
  double runs = 0, images = 0, compute = 0, backward = 0, input = 0, update = 0;
};

Sums add_up(const std::vector<const RunResult*>& runs) {
  Sums sums;
  for (const RunResult* run : runs) {
    sums.runs += 1;
    sums.images += mean_batch(*run);
    sums.compute += compute_of(*run);
    sums.backward += mean_of(*run, Phase::backward);
    sums.input += mean_of(*run, Phase::load) + mean_of(*run, Phase::copy);
    sums.update += mean_of(*run, Phase::optimizer) + mean_of(*run, Phase::other);
  }
  return sums;
}

std::vector<const RunResult*> with_full_steps(const std::vector<RunResult>& runs) {
  std::vector<const RunResult*> result;
  for (const RunResult& run : runs) {
    if (run.steady_full_step.count > 0 && compute_of(run) > 0) result.push_back(&run);
  }
  if (result.empty()) {
    throw InputError(
        "no run to fit the compute time to: none has a full step of training; give the run.json of "
        "runs that finished an epoch, with a batch that is not larger than the data set, or "
        "--compute");
  }
  return result;
}

}  // namespace

ComputeFit fit_compute(const std::vector<RunResult>& all) {
  const auto runs = with_full_steps(all);
  ComputeFit result;
  std::vector<PairRow> rows;
  std::set<std::size_t> batches;
  for (const RunResult* run : runs) {
    const auto micro = static_cast<double>(run->micro_batches);
    rows.push_back({1, mean_batch(*run) / micro, compute_of(*run) / micro});
    batches.insert(run->rank_batches.front() / run->micro_batches);
  }
  result.fit = fit_pair(rows);
  result.batches.assign(batches.begin(), batches.end());
  result.runs = runs.size();
  const Sums sums = add_up(runs);
  result.model = {result.fit.first, result.fit.second, sums.backward / sums.compute,
                  sums.input / sums.images, sums.update / sums.runs};
  return result;
}

}  // namespace rueda::predict
