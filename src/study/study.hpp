#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/statistics.hpp"
#include "rueda/backend/device_monitor.hpp"
#include "rueda/train/timings.hpp"

namespace rueda {

/// The value of a figure that a file does not have.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Where the time of a mean step went; seconds, mean over ranks. `count` is 0
/// if there was no such step.
struct MeanStep {
  std::size_t count = 0;
  double seconds = kUnknown;
  PhaseSeconds phases{};  ///< they add up to `seconds`
};

/// One bucket of gradients; seconds, over steps and ranks.
struct BucketResult {
  double bytes = kUnknown;
  Spread busy, transfer, add;
};

/// What was measured of communication; seconds, mean over ranks.
struct CommunicationTimes {
  double bytes = kUnknown;                                      ///< summed in a step
  double busy = kUnknown;                                       ///< inside the all-reduce
  double exposed = kUnknown;                                    ///< what steps waited for it
  double wait = kUnknown, transfer = kUnknown, add = kUnknown;  ///< parts of `busy`
  double algbw = kUnknown, busbw = kUnknown;  ///< GB/s, of the slowest rank's busy time
};

/// Communication per step, full and partial ones together.
struct CommunicationResult : CommunicationTimes {
  std::vector<BucketResult> buckets;
};

struct EpochResult {
  std::size_t steps = 0;
  bool resumed = false;  ///< a process resumed the run here
  double images = kUnknown;
  double seconds = kUnknown;  ///< training steps, between barriers
  double val_accuracy = kUnknown;
  Energy energy;                     ///< of the steps
  PhaseSeconds phases{};             ///< sums over all its steps, mean over ranks
  CommunicationTimes communication;  ///< per step
  EfficiencySeconds efficiency;
  /// Of each rank: seconds of its full steps without waiting for the all-reduce.
  std::vector<Spread> ranks;
  double least_core_share = kUnknown;  ///< of the rank that got least of its cores' time
};

struct RankResult {
  std::string host;
  std::string backend;  ///< cpu, cuda, timed
  std::string device;   ///< name of the processor or GPU; empty if unknown
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
  std::map<std::string, std::string> versions;  ///< of the program and its libraries

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
  /// Item to seconds of the slowest rank, in order.
  std::vector<std::pair<std::string, double>> startup;
  std::vector<EpochResult> epochs;  ///< finished ones

  // Of the epochs after the first; of the first where it is the only one.
  MeanStep steady_full_step;
  Spread steady_full_step_seconds;  ///< slowest rank's time
  CommunicationResult steady_communication;
  double startup_seconds = kUnknown;

  std::size_t world_size() const noexcept { return ranks.size(); }
  /// Whether the name of its all-reduce has this word.
  bool sums_by(const char* word) const { return all_reduce.find(word) != std::string::npos; }
  /// A window in shared memory has no messages: ranks read each other's gradients while they add.
  bool sums_go_over_links() const { return !sums_by("shared"); }
};
using Runs = std::vector<RunResult>;

/// The first number in its name, by which models are listed; those without one come last.
inline std::size_t depth_of(const std::string& model) {
  const auto digit = model.find_first_of("0123456789");
  return digit == model.npos ? digit : std::strtoull(model.c_str() + digit, nullptr, 10);
}

/// Reads a run.json. Ignores unknown fields; fields that an older version did
/// not write stay unknown. Throws InputError naming file, field and remedy.
RunResult read_run(const std::filesystem::path& file);

/// The epochs that count (steady_stretch); if there are none, the last one.
std::span<const EpochResult> steady_epochs(const RunResult& run);
/// Whether there are none, so that this epoch's time includes warm-up: each is
/// the first of a process.
bool includes_warm_up(const RunResult& run);

/// The steady epoch of median time; of an even number the mean of the middle two. So its phases,
/// communication and energy are of its `seconds`, which are the median of all.
EpochResult middle_epoch(const RunResult& run);

/// What jobs/scale.sh wrote about one run that it started (attempt.json): also
/// of those that were refused or failed before they had a run.json.
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
  Runs runs;                           ///< with at least one finished epoch
  Runs empty_runs;                     ///< without
  std::vector<Attempt> failed;         ///< attempts that did not end well
  std::vector<Unreadable> unreadable;  ///< in directories that hold others
};

/// Reads run.json and attempt.json of every directory below `places` (five
/// levels deep, symbolic links are not followed); a place may also be such a
/// file. Files found below count once. Throws InputError if a place is not
/// there or none holds anything, and if a place's own file cannot be read; one
/// that lies deeper is put into `unreadable`.
Study load_study(const std::vector<std::filesystem::path>& places);

}  // namespace rueda
