#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "study/report.hpp"

namespace rueda::test {

/// What a made-up run is to show. Every rank does the same.
struct MadeRun {
  std::string model = "net";
  std::size_t ranks = 1;
  std::size_t rank_batch = 10;
  std::size_t images = 100;
  std::vector<double> epochs = {1.5, 1.0};  ///< seconds
  double step = 0.1;                        ///< seconds of a full step
  PhaseSeconds phases = {};                 ///< seconds of an epoch
  double wait = 0, transfer = 0, add = 0;   ///< seconds per step in the all-reduce
  int threads = 1;
  double cores = 1;
};

inline AllSteps made_steps(const MadeRun& made, double steps) {
  AllSteps all;
  all.bytes = 1e9;
  all.mean.busy.mean = made.wait + made.transfer + made.add;
  all.mean.phases[kAllReduce].mean = made.phases[kAllReduce] / steps;
  all.mean.wait.mean = made.wait;
  all.mean.transfer.mean = made.transfer;
  all.mean.add.mean = made.add;
  return all;
}

/// Over ranks.
inline void set_means(std::array<Spread, kPhases>& spreads, const PhaseSeconds& means) {
  for (std::size_t p = 0; p < kPhases; ++p) spreads[p].mean = means[p];
}

inline RunResult made_run(const MadeRun& made) {
  RunResult run;
  run.config.model.name = made.model;
  run.config.model.image_size = 32;
  run.outcome = "completed";
  run.train_images = made.images;
  run.global_batch = made.ranks * made.rank_batch;
  run.rank_batches.assign(made.ranks, made.rank_batch);
  const std::size_t steps = (made.images + run.global_batch - 1) / run.global_batch;
  RankInfo rank{.host = "node1", .backend = "cpu", .device = "CPU A"};
  rank.threads = made.threads;
  rank.cores = made.cores;
  run.ranks.assign(made.ranks, rank);
  run.memory_bytes = 1e6;
  run.startup = {{"mpi", {.max = 0.25}}, {"data", {.max = 0.5}}};
  run.summary.startup_seconds = 0.75;
  for (const double seconds : made.epochs) {
    EpochFigures e;
    e.steps = steps;
    e.ranks = made.ranks;
    e.train.samples = made.images;
    e.seconds = seconds;
    set_means(e.phases, made.phases);
    e.all_steps = made_steps(made, double(steps));
    run.epochs.push_back(e);
  }
  const std::vector<double> full = {made.step};
  StepBreakdown& step = run.summary.full_step;
  step.slowest = spread_of(full);
  step.steps = 1;
  step.step.mean = made.step;
  for (std::size_t p = 0; p < kPhases; ++p) step.phases[p].mean = made.phases[p] / double(steps);
  run.summary.all_steps = made_steps(made, double(steps));
  return run;
}

inline void set_version(RunResult& run, const std::string& name, const std::string& version) {
  const auto found = std::ranges::find(run.versions, name, &Versions::value_type::first);
  if (found == run.versions.end())
    run.versions.emplace_back(name, version);
  else
    found->second = version;
}

/// The seconds of each rank's full steps without waiting, in its last epoch.
inline void set_compute(RunResult& run, const std::vector<std::vector<double>>& seconds) {
  std::vector<RankFigures>& ranks = run.epochs.back().of_ranks;
  for (const std::vector<double>& own : seconds) ranks.emplace_back().full_compute = spread_of(own);
}

/// P ranks with steady epochs of T seconds.
inline std::vector<RunResult> runs_of(const std::vector<std::pair<std::size_t, double>>& times) {
  std::vector<RunResult> runs;
  for (const auto& [ranks, seconds] : times)
    runs.push_back(made_run({.ranks = ranks, .epochs = {99, seconds}}));
  return runs;
}

inline PhaseSeconds phases(double backward, double all_reduce) {
  PhaseSeconds all{};
  all[std::size_t(Phase::backward)] = backward;
  all[std::size_t(Phase::all_reduce)] = all_reduce;
  return all;
}

/// Series and figures of observations, with what they point to.
struct Evaluated {
  explicit Evaluated(const std::vector<Observation>& given)
      : observations(given), series(make_series(observations)), figures(evaluate(series)) {}

  std::vector<Observation> observations;
  std::vector<Series> series;
  StudyFigures figures;
};

/// A cell by its row and the key of its column. Throws std::out_of_range.
inline const Cell& cell(const Table& table, std::size_t row, const std::string& key) {
  const auto column = std::ranges::find(table.columns, key, &Column::key);
  return table.rows.at(row).at(std::size_t(column - table.columns.begin()));
}

/// A number by its column and the number of ranks (and the batch, if there is such a column).
inline double number_at(const Table& table, double ranks, const std::string& key,
                        double batch = 0) {
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const bool is_batch = batch == 0 || cell(table, row, "batch").number() == batch;
    if (is_batch && cell(table, row, "ranks").number() == ranks)
      return cell(table, row, key).number();
  }
  throw std::out_of_range(key);
}

}  // namespace rueda::test
