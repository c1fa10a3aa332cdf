#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "rueda/train/run_record.hpp"

namespace rueda {

/// Names of the files in a run directory.
inline constexpr const char* kRunJsonName = "run.json";
inline constexpr const char* kStepsCsvName = "steps.csv";
inline constexpr const char* kEpochsCsvName = "epochs.csv";
inline constexpr const char* kRanksCsvName = "ranks.csv";
inline constexpr std::array kRunFiles = {kEpochsCsvName, kRanksCsvName, kStepsCsvName, kRunJsonName,
                                         kFinalWeightsName};
/// Epochs of more ranks have their rows in ranks.csv alone, so that run.json, which is
/// written again and again, does not grow with ranks times epochs.
inline constexpr std::size_t kMostRanksInJson = 16;
/// `schema_version` of run.json: raised when a field changes its meaning or
/// goes; new fields alone leave it.
inline constexpr int kRunSchemaVersion = 2;
inline constexpr const char* kRunSchema = "rueda-run";

/// The record as JSON text, as docs/run-json.md describes it. NaN and infinity
/// become null; bytes that are not UTF-8 become U+FFFD.
std::string to_json(const RunRecord& run);

/// The configuration alone, a JSON object of options by their names on the command line.
std::string options_json(const TrainConfig& config);

/// The same, one option a line: what ranks compare.
std::string config_text(const TrainConfig& config);

/// Writes `to_json` to `path` atomically (write_output). Throws RunError
/// naming path and reason.
void write_run_json(const std::filesystem::path& path, const RunRecord& run);

/// The past of a run: what run.json holds of the whole run, and the sums of its
/// epochs' steps. A checkpoint keeps it, so that the run.json of a resumed run
/// has the figures of an uninterrupted one.
TextPieces history_json(const RunRecord& run);

/// Makes the history of a run that goes on, again and again. It keeps the line of
/// each epoch without its sums, so that a checkpoint each epoch makes one line, and copies none of
/// those before in memory.
class HistoryWriter {
 public:
  TextPieces text(const RunRecord& run);

 private:
  TextPieces lines_;  ///< by epoch, without sums
};

/// Adds to `run` what history_json wrote. The epochs have figures and sums, and
/// no records of their steps. Throws InputError,
/// whose message begins with `what`, where the text is no such history.
void restore_history(RunRecord& run, const std::string& text, const std::string& what);

/// Lines of epochs.csv, the header first if `head` asks for it: numbers as the
/// epochs' elements of run.json have them, empty where these have none.
std::string epochs_csv(std::span<const EpochRecord> epochs, const RunRecord& run, bool head);

/// Appends the lines of one epoch, one per step and rank in this order. With
/// `first` it writes a new file with a header. A crash may cut the last line.
/// Throws RunError naming path and reason.
void append_steps_csv(const std::filesystem::path& path, const EpochRecord& epoch, bool first);

/// The same for ranks.csv, a line per rank. The epoch's records have been released.
void append_ranks_csv(const std::filesystem::path& path, const EpochRecord& epoch, bool first);

/// Copies the header and the whole lines of epochs up to `last` to `to`, a steps.csv or
/// ranks.csv. `from` need not exist, and may be the same file: `to` is written
/// atomically. Throws RunError naming path and reason.
void copy_rows(const std::filesystem::path& from, const std::filesystem::path& to,
               std::size_t last);

/// Reads a steps.csv: calls `use` with these columns of each row, in their
/// order; a value is NaN where the row or the file lacks it. Memory does not
/// grow with the file. Returns false if the file does not exist or is empty.
/// Throws InputError naming it if it is not regular, is larger than 10 GB, or
/// has a line of more than 64 KB.
bool for_each_step(const std::filesystem::path& file, std::span<const std::string_view> columns,
                   const std::function<void(std::span<const double>)>& use);

/// The trace of a run in the Chrome Trace Event Format, which Perfetto and
/// chrome://tracing show: a process for each traced rank, a row for each TraceLane,
/// an arrow (flow events) for each message whose sender and receiver are both traced.
/// Times are microseconds since the first span on rank 0's clock; the largest
/// error of the clocks is noted.
std::string to_trace_json(const RunRecord& run);
/// Writes that as write_run_json writes, in no more memory than an event takes.
void write_trace(const std::filesystem::path& path, const RunRecord& run);

}  // namespace rueda
