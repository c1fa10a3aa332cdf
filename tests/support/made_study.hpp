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
  double threads = 1, cores = 1;
};

inline CommunicationTimes made_communication(const MadeRun& made, double steps) {
  CommunicationTimes c;
  c.bytes = 1e9;
  c.busy = made.wait + made.transfer + made.add;
  c.exposed = made.phases[std::size_t(Phase::all_reduce)] / steps;
  c.wait = made.wait;
  c.transfer = made.transfer;
  c.add = made.add;
  return c;
}

inline RunResult made_run(const MadeRun& made) {
  RunResult run;
  run.model = made.model;
  run.image_size = 32;
  run.outcome = "completed";
  run.train_images = made.images;
  run.global_batch = made.ranks * made.rank_batch;
  run.rank_batches.assign(made.ranks, made.rank_batch);
  run.hosts = {"node1"};
  const std::size_t steps = (made.images + run.global_batch - 1) / run.global_batch;
  for (std::size_t r = 0; r < made.ranks; ++r)
    run.ranks.push_back({"node1", "cpu", "CPU A", made.threads, made.cores, 1e6});
  run.startup = {{"mpi", 0.25}, {"data", 0.5}};
  run.startup_seconds = 0.75;
  for (const double seconds : made.epochs) {
    EpochResult e;
    e.steps = steps;
    e.images = double(made.images);
    e.seconds = seconds;
    e.phases = made.phases;
    e.communication = made_communication(made, double(steps));
    run.epochs.push_back(e);
  }
  const std::vector<double> full = {made.step};
  run.steady_full_step_seconds = spread_of(full);
  run.steady_full_step.count = 1;
  run.steady_full_step.seconds = made.step;
  for (std::size_t p = 0; p < kPhases; ++p)
    run.steady_full_step.phases[p] = made.phases[p] / double(steps);
  static_cast<CommunicationTimes&>(run.steady_communication) =
      made_communication(made, double(steps));
  return run;
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
