#pragma once

#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

#include "common.hpp"
#include "record/run_json.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda::test {

/// Two full steps of 128 images and a partial one of 40, as 296 images give them. Every rank, step
/// and phase has its own time; rank 1 is slower than rank 0 in forward and backward and waits less.
inline StepRecord sample_step(std::size_t epoch, std::size_t step, std::size_t rank,
                              std::size_t ranks) {
  StepRecord s;
  s.epoch = std::uint32_t(epoch);
  s.step = std::uint32_t(step);
  s.global_samples = step == 3 ? 40 : 128;
  s.samples = std::uint32_t(s.global_samples / ranks);
  const double part = s.global_samples / 128.0;
  const double slow = 1 + 0.1 * double(rank);
  const double first = epoch == 1 && step == 1 ? 2 : 1;
  const double drift = 1 + 0.01 * double(epoch + step);
  s.phases = {0.004 * part,
              0.001 * part,
              0.100 * part * slow * first * drift,
              0.0005 * part,
              0.200 * part * slow * drift,
              0.040 / slow / slow,
              0.006,
              0.0015};
  s.all_reduce_busy = 0.045 / slow;
  s.all_reduce_add = 0.005 * slow;
  s.all_reduce_wait = 0.010 * double(rank);
  s.prepare_busy = 0.008 * part * slow;
  s.copy_busy = 0.002 * part * slow;
  s.copy_bytes = 50'000 * s.samples;
  s.train_loss = 2.3 / double(epoch + step);
  s.train_accuracy = 0.1 * double(epoch);
  s.learning_rate = 0.1;
  s.cores = {0.28 * part / slow, 0.3 * part};
  s.seconds = std::accumulate(s.phases.begin(), s.phases.end(), 0.0);
  return s;
}

inline EpochRecord sample_epoch(std::size_t epoch, std::size_t ranks) {
  EpochRecord e;
  e.epoch = epoch;
  e.steps = 3;
  e.ranks = ranks;
  const auto n = double(epoch);
  e.train = {2.3 / n, 0.15 * n, 296, 0};
  e.test = Score{2.4 / n, 0.14 * n, 100, 0.21};
  e.learning_rate = 0.1;
  e.seconds = epoch == 1 ? 1.1 : 0.8 + 0.02 * n;
  e.images_per_second = 296 / e.seconds;
  e.parameter_hash = "0123456789abcde" + std::to_string(epoch);
  for (std::size_t r = 0; r < ranks; ++r) {
    e.step_records.emplace_back();
    for (std::size_t s = 1; s <= e.steps; ++s)
      e.step_records.back().push_back(sample_step(epoch, s, r, ranks));
  }
  return e;
}

inline RankInfo sample_rank(int rank, int ranks_per_host) {
  RankInfo r;
  r.rank = rank;
  r.local_rank = rank % ranks_per_host;
  r.host = "node" + std::to_string(rank / ranks_per_host + 1);
  r.backend = "cpu";
  r.device = "Example Processor E-2000 v3 with a very long name @ 2.70GHz";
  r.threads = 1;
  r.cores = 1;
  r.memory.parameters = 10'000'000;
  r.memory.activations = 40'000'000;
  r.startup = {{"mpi", 0.25 + 0.01 * rank}, {"data", 0.5}, {"plan", 0.125 + 0.002 * rank}};
  return r;
}

/// A made-up run of three epochs whose every number follows from a formula above.
inline RunRecord sample_run(int ranks = 2, int ranks_per_host = 2) {
  RunRecord run;
  const auto p = std::size_t(ranks);
  run.config.batch.per_rank = 128 / p;
  run.config.batch.global = 128;
  run.config.optimizer.lr = 0.1;
  run.config.optimizer.lr_schedule = LrSchedule::constant;
  run.config.output.run_dir = "runs/sample";
  run.command_line = "rueda train --model resnet20";
  run.started_at = "2024-05-06T07:08:09Z";
  run.versions = {{"rueda", "0.1.0"}, {"mpi", "Open MPI 4.1.4"}, {"onednn", "2.6.3"}};
  for (int r = 0; r < ranks; ++r) run.ranks.push_back(sample_rank(r, ranks_per_host));
  run.train_images = 296;
  run.test_images = 100;
  run.data_source = "synthetic";
  run.parameters = 269'722;
  run.statistics = 1'376;
  run.train_flops_per_image = 242.4e6;
  run.global_batch = 128;
  run.micro_batch = 128 / p;
  run.micro_batch_asked = 128 / p;
  run.rank_batches.assign(p, 128 / p);
  run.steps_per_epoch = 3;
  run.learning_rate = 0.1;
  run.all_reduce = "ring";
  run.gradient_bytes = 1'084'400;
  for (std::size_t e = 1; e <= 3; ++e) run.epochs.push_back(sample_epoch(e, p));
  run.outcome = "completed";
  run.total_seconds = 4.5;
  return run;
}

/// The text of steps.csv.
inline std::string steps_csv(const RunRecord& run) {
  const ScratchDirectory folder;
  const auto path = folder.path() / "steps.csv";
  append_steps_csv(path, {}, true);
  for (const EpochRecord& epoch : run.epochs) append_steps_csv(path, epoch, false);
  return content(path);
}

}  // namespace rueda::test
