#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rueda/record/statistics.hpp"
#include "rueda/train/timings.hpp"

namespace rueda {

/// The value of a figure that a file does not have.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Over ranks.
struct OverRanks {
  double min = kUnknown;
  double mean = kUnknown;
  double max = kUnknown;
};

/// Where the time of a mean step went; seconds, over ranks. `count` is 0 if there was no such step.
struct MeanStep {
  std::size_t count = 0;
  OverRanks seconds;
  std::array<OverRanks, kPhases> phases;  ///< the means add up to `seconds.mean`
};

/// One bucket of gradients; seconds, over steps and ranks.
struct BucketResult {
  double bytes = kUnknown;
  Spread busy, transfer, add;
};

/// Communication per step, full and partial ones together; seconds.
struct CommunicationResult {
  double bytes = kUnknown;  ///< summed in a step
  OverRanks busy, exposed, wait, transfer, add;
  double algbw = kUnknown, busbw = kUnknown;  ///< GB/s
  std::vector<BucketResult> buckets;
};

/// What one rank did in an epoch.
struct RankEpoch {
  std::size_t rank = 0;
  Spread full_compute;  ///< seconds of its full steps without waiting for the all-reduce
};

struct EpochResult {
  std::size_t epoch = 0;  ///< from 1
  std::size_t steps = 0;
  bool resumed = false;  ///< a process resumed the run here
  double images = kUnknown;
  double seconds = kUnknown;  ///< training steps, between barriers
  double val_accuracy = kUnknown;
  double joules = kUnknown;               ///< of all GPUs
  std::array<OverRanks, kPhases> phases;  ///< sums over all its steps
  std::vector<RankEpoch> ranks;
};

struct RankResult {
  std::size_t rank = 0;
  std::string host;
  std::string backend;  ///< cpu, cuda, timed
  double threads = kUnknown, cores = kUnknown;
  double memory_bytes = kUnknown;
};

/// What a study uses of one run.json (docs/run-json.md). Seconds, bytes, images.
struct RunResult {
  std::filesystem::path file;
  std::string outcome;  ///< running, completed, target reached, failed
  std::string failure;  ///< empty if it did not fail
  /// Option to value as JSON text ("null", "\"fp32\"", "64").
  std::map<std::string, std::string> options;

  std::string model;
  std::size_t image_size = 0;
  std::string precision;
  std::size_t train_images = 0;
  std::size_t global_batch = 0;
  std::vector<std::size_t> rank_batches;  ///< of each rank in a full step
  std::size_t micro_batches = 1;

  std::string all_reduce;
  bool overlaps = false;
  std::vector<double> bucket_bytes;

  std::vector<std::string> hosts;
  std::vector<RankResult> ranks;
  std::vector<std::pair<std::string, OverRanks>> startup;  ///< item to seconds, in order
  std::vector<EpochResult> epochs;                         ///< finished ones

  // Of the epochs after the first; of the first where it is the only one.
  MeanStep steady_full_step;
  Spread steady_full_step_seconds;  ///< slowest rank's time
  CommunicationResult steady_communication;
  double startup_seconds = kUnknown;

  std::size_t world_size() const noexcept { return ranks.size(); }
};

/// Reads a run.json. Ignores unknown fields; fields that an older version did not write stay
/// unknown. Throws InputError naming file, field and remedy if it cannot be read, is larger than
/// 1 GB, or is not what docs/run-json.md describes.
RunResult read_run(const std::filesystem::path& file);

/// The epochs that count: those after the first; in a resumed run, those after the last first one
/// that was followed by others; if there are none, the last one.
std::span<const EpochResult> steady_epochs(const RunResult& run);

/// What jobs/scale.sh wrote about one run that it started (attempt.json): also of those that were
/// refused or failed before they had a run.json.
struct Attempt {
  std::filesystem::path file;
  std::string model;
  std::size_t ranks = 0;
  std::size_t rank_batch = 0;    ///< 0: a global batch was asked for
  std::size_t global_batch = 0;  ///< 0: a batch per rank was asked for
  int exit_code = 0;
  std::string message;  ///< the program's, empty if it gave none
};

/// A file that was found and could not be read.
struct Unreadable {
  std::filesystem::path file;
  std::string why;
};

/// Everything found below the directories of a study.
struct Study {
  std::vector<RunResult> runs;         ///< with at least one finished epoch
  std::vector<RunResult> empty_runs;   ///< without
  std::vector<Attempt> failed;         ///< attempts that did not end well
  std::vector<Unreadable> unreadable;  ///< in directories that hold others
};

/// Reads run.json and attempt.json of every directory below `places` (five levels deep, symbolic
/// links are not followed); a place may also be such a file. Files found below count once. Throws
/// InputError if a place is not there or none holds anything, and if a place's own file cannot be
/// read; one that lies deeper is put into `unreadable`.
Study load_study(const std::vector<std::filesystem::path>& places);

}  // namespace rueda
