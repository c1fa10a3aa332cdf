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

/// What a file does not tell is NaN.
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
  OverRanks busy;                         ///< inside the all-reduce, hidden or not
  OverRanks wait, transfer, add;          ///< the parts of `busy`
};

/// One bucket of gradients; seconds, over steps and ranks.
struct BucketResult {
  double bytes = kUnknown;
  Spread queued, busy, wait, transfer, add;
};

/// Communication per step, full and partial ones together; seconds.
struct CommunicationResult {
  double bytes = kUnknown;  ///< summed in a step
  OverRanks busy, exposed, wait, transfer, add;
  double busy_slowest_rank = kUnknown;
  double algbw = kUnknown, busbw = kUnknown;  ///< GB/s
  std::vector<BucketResult> buckets;
};

/// What one rank did in an epoch; seconds.
struct RankEpoch {
  std::size_t rank = 0;
  double seconds = kUnknown;
  Spread full_step;     ///< its full steps
  Spread full_compute;  ///< the same without waiting for the all-reduce
};

struct EpochResult {
  std::size_t epoch = 0;  ///< from 1
  std::size_t steps = 0;
  bool resumed = false;  ///< a process went on with the run here
  double images = kUnknown;
  double seconds = kUnknown;  ///< training steps, between barriers
  double images_per_second = kUnknown;
  double loss = kUnknown, accuracy = kUnknown, val_accuracy = kUnknown;
  double joules = kUnknown;               ///< of all GPUs
  std::array<OverRanks, kPhases> phases;  ///< sums over all its steps
  Spread full_step;                       ///< slowest rank's time of a full step
  MeanStep mean_full_step;
  std::vector<RankEpoch> ranks;
};

struct RankResult {
  std::size_t rank = 0;
  std::string host;
  std::string backend;  ///< cpu, cuda, timed
  std::string device;
  double threads = kUnknown, cores = kUnknown;
  double memory_bytes = kUnknown;
};

/// What one run.json tells (docs/run-json.md). Seconds, bytes, images.
struct RunResult {
  std::filesystem::path file;
  std::string started_at;
  std::string outcome;  ///< running, completed, target reached, failed
  std::string failure;  ///< empty if it did not fail
  std::string version;  ///< of the program
  /// Option to value as JSON text ("null", "\"fp32\"", "64").
  std::map<std::string, std::string> options;

  std::string model;
  std::size_t image_size = 0;
  std::string precision;
  double parameters = kUnknown;  ///< trainable
  double train_flops_per_image = kUnknown;
  std::size_t train_images = 0;
  std::size_t global_batch = 0;
  std::vector<std::size_t> rank_batches;  ///< of each rank in a full step
  std::size_t micro_batches = 1;
  std::size_t steps_per_epoch = 0;

  std::string all_reduce, transport;
  bool overlaps = false;
  double gradient_bytes = kUnknown;
  std::vector<double> bucket_bytes;
  /// Seconds that forward and backward of `timed_images` were made to last; NaN for a run that
  /// computed.
  double timed_seconds = kUnknown, timed_images = kUnknown;

  std::vector<std::string> hosts;
  std::vector<RankResult> ranks;
  std::vector<std::pair<std::string, OverRanks>> startup;  ///< item to seconds, in order
  std::vector<EpochResult> epochs;                         ///< finished ones

  // Of the epochs after the first; of the first where it is the only one.
  MeanStep steady_full_step;
  Spread steady_full_step_seconds;  ///< slowest rank's time
  CommunicationResult steady_communication;
  double startup_seconds = kUnknown;
  double evaluation_seconds = kUnknown;
  double total_seconds = kUnknown;

  std::size_t world_size() const noexcept { return ranks.size(); }
};

/// Reads a run.json. Fields that a later version added are ignored, those that an earlier one
/// lacked stay unknown. Throws InputError naming file, field and remedy if it cannot be read, is
/// larger than 1 GB, or is not what docs/run-json.md describes.
RunResult read_run(const std::filesystem::path& file);

/// The epochs that count: those after the first; in a run that was resumed, which begins anew,
/// those after the last first one that was followed by others; if there are none, the last one.
std::vector<const EpochResult*> steady_epochs(const RunResult& run);

}  // namespace rueda
