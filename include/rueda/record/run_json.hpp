#pragma once

#include <filesystem>
#include <string>

#include "rueda/train/run_record.hpp"

namespace rueda {

/// Names of the files in a run directory.
inline constexpr const char* kRunJsonName = "run.json";
inline constexpr const char* kStepsCsvName = "steps.csv";
/// `schema_version` of run.json: raised when a field changes its meaning or goes; new fields alone
/// leave it.
inline constexpr int kRunSchemaVersion = 1;

/// The record as JSON text, as docs/run-json.md describes it. NaN and infinity become null; bytes
/// that are not UTF-8 become U+FFFD.
std::string to_json(const RunRecord& run);

/// The configuration alone, a JSON object of options by their names on the command line.
std::string options_json(const TrainConfig& config);

/// The same, one option a line: what ranks compare.
std::string config_text(const TrainConfig& config);

/// Writes `to_json` to `path`: under a temporary name in the same directory, flushed to the disk,
/// then renamed, so that `path` holds the old or the new text in full, never a part. Throws
/// RunError naming path and reason.
void write_run_json(const std::filesystem::path& path, const RunRecord& run);

/// What run.json holds of the past: its beginning, resumptions and epochs. What a checkpoint keeps
/// of it, so that a run that is resumed tells of all its epochs.
TextPieces history_json(const RunRecord& run);

/// The way back: adds to `run` what history_json told. Epochs keep their elements of run.json as
/// they are; the records of their steps are gone. Throws InputError, which `what` begins, where the
/// text is no such history.
void restore_history(RunRecord& run, const std::string& text, const std::string& what);

/// Puts an epoch's element of run.json, as it is now, in the place of its steps' records: nothing
/// but `steady_communication.buckets` of the summary still needs them.
void release_steps(EpochRecord& epoch, const RunRecord& run);

/// Writes a line per rank and step, in order of epoch, step and rank, behind a header; in the same
/// way. Throws RunError naming path and reason.
void write_steps_csv(const std::filesystem::path& path, const RunRecord& run);

/// Appends the lines of one epoch; the first one makes the file, with its header, and replaces any
/// other. A crash may leave the last line cut. Throws RunError naming path and reason.
void append_steps_csv(const std::filesystem::path& path, const EpochRecord& epoch, bool first);

/// Writes to `to` what `from`, which need not exist, has of epochs up to `last`, behind the header;
/// lines that are cut off are left out. In one go, so that both may be the same. Throws RunError
/// naming path and reason.
void copy_steps_csv(const std::filesystem::path& from, const std::filesystem::path& to,
                    std::size_t last);

/// The trace of a run in the Chrome Trace Event Format, which Perfetto and chrome://tracing show:
/// a process for each rank, a row for each TraceLane; times in microseconds from the first span on,
/// on rank 0's clock, whose largest error is noted.
std::string to_trace_json(const RunRecord& run);
void write_trace(const std::filesystem::path& path, const RunRecord& run);

}  // namespace rueda
