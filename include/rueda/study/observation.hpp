#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "run_result.hpp"
#include "study/estimate.hpp"

namespace rueda {

enum class Processor { cpu, gpu, timed };

/// One training run as a scaling study sees it, whoever ran it: rueda, a framework whose log was
/// read, or a published table. Times in seconds.
struct Observation {
  std::string source;  ///< "rueda", "Keras log FILE", "Torres 2026, table 10.4" ...
  std::string model;
  std::string variant;  ///< whatever else tells series apart, in words; empty if nothing does
  Processor processor = Processor::cpu;
  std::size_t image_size = 0;  ///< 0: unknown
  std::size_t ranks = 1;       ///< P; replicas, GPUs
  std::size_t hosts = 1;
  std::size_t rank_batch = 0;    ///< images of each rank in a full step; 0 if ranks differ
  std::size_t global_batch = 0;  ///< of all ranks
  double images = kUnknown;      ///< of an epoch
  std::size_t steps = 0;         ///< of an epoch, partial ones included

  Estimate epoch;        ///< steady: epochs after the first
  Estimate first_epoch;  ///< unknown if it is not told
  Estimate full_step;    ///< steady, slowest rank
  /// Time of an epoch divided by its steps, where a log prints that and no full step.
  Estimate mean_step;
  /// `epoch` as its log prints it, in whole seconds, say; unknown if nothing was rounded.
  Estimate printed_epoch;

  /// Ranks ran more threads than there were cores: shown, left out of fits.
  bool oversubscribed = false;
  /// Only one epoch: its time includes warm-up.
  bool includes_warm_up = false;
  /// The run behind it; null for what rueda did not run.
  const RunResult* run = nullptr;
};

/// A finished or interrupted run of rueda; it has to outlive the observation. Throws
/// std::invalid_argument if it has no epoch.
Observation observe(const RunResult& run);

/// All runs that have an epoch. Options that bear on time and are not the same in all of them are
/// named in `variant` ("overlap off, wire bf16").
std::vector<Observation> observe_all(const std::vector<RunResult>& runs);

}  // namespace rueda
