#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/statistics.hpp"
#include "record/evaluation_record.hpp"
#include "record/run_figures.hpp"

namespace rueda {

/// The value of a figure that a file does not have.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// One run.json (docs/run-json.md) as studies and forecasts use it. Seconds, bytes, images.
struct RunResult : RunFacts {
  std::filesystem::path file;
  /// Option to value as JSON text ("null", "\"fp32\"", "64").
  std::map<std::string, std::string> options;
  std::string precision;
  double memory_bytes = kUnknown;  ///< of the rank that holds most
  /// Items over ranks, in order.
  std::vector<std::pair<std::string, Spread>> startup;
  std::vector<EpochFigures> epochs;  ///< finished ones
  RunSummary summary;                ///< "steady": of the first epoch where it is the only one
  std::optional<EvaluationRecord> evaluation;  ///< of its weights, where its directory has one

  std::size_t world_size() const noexcept { return ranks.size(); }
  std::size_t hosts() const { return each_once(values_of(ranks, &RankInfo::host)).size(); }
  /// Whether the name of its all-reduce has this word.
  bool sums_by(const char* word) const { return all_reduce.find(word) != std::string::npos; }
  /// A window in shared memory has no messages: ranks read each other's gradients while they add.
  bool sums_go_over_links() const { return !sums_by("shared"); }
};
using Runs = std::vector<RunResult>;

/// The name of the directory that a file of a run lies in.
std::string folder_name(const std::filesystem::path& file);

inline const std::string& model_of(const RunResult& run) { return run.config.model.name; }
/// Pixels.
inline std::size_t image_size_of(const RunResult& run) {
  return std::size_t(run.config.model.image_size);
}

/// The first number in its name, by which models are listed; those without one come last.
inline std::size_t depth_of(const std::string& model) {
  const auto digit = model.find_first_of("0123456789");
  return digit == model.npos ? digit : std::strtoull(model.c_str() + digit, nullptr, 10);
}

/// Reads a run.json. Ignores unknown fields; fields that an older version did
/// not write stay unknown. Throws InputError naming file, field and remedy.
RunResult read_run(const std::filesystem::path& file);

/// The epochs that count (steady_stretch); if there are none, the last one.
std::span<const EpochFigures> steady_epochs(const RunResult& run);
/// Samples per rank in a full step of that epoch.
std::vector<std::size_t> batches_of(const RunResult& run, const EpochFigures& epoch);
/// "equal", "speed", or the parts that were given.
std::string balance_of(const RunResult& run);
/// Whether there are none, so that this epoch's time includes warm-up: each is
/// the first of a process.
bool includes_warm_up(const RunResult& run);

/// The steady epoch of median time; of an even number the mean of the middle two. So its phases,
/// communication and energy are of its `seconds`, which are the median of all.
EpochFigures middle_epoch(const RunResult& run);

/// Of the rank that got least of its cores' time; NaN if unknown.
double least_core_share(const EpochFigures& epoch);
/// Mean over ranks.
PhaseSeconds means_of(const std::array<Spread, kPhases>& phases);

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

/// Reads run.json, attempt.json and a run's evaluation.json of every directory
/// below `places` (five levels deep, symbolic links are not followed); a place
/// may also be a file of the first two. Files found below count once. Throws InputError if a place
/// is not there or none holds anything, and if a place's own file cannot be read; one that lies
/// deeper is put into `unreadable`.
Study load_study(const std::vector<std::filesystem::path>& places);

}  // namespace rueda
