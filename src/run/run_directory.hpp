#pragma once

#include <memory>
#include <string>

#include "base/files.hpp"
#include "rueda/train/config.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda {

/// One process's exclusive right to write into a run directory: a lock (flock)
/// on a file in it, which the system releases when the process ends, in any
/// way. File systems without locks keep no process out.
class DirectoryClaim {
 public:
  DirectoryClaim() = default;
  /// Waits five seconds for a process that is about to end. Throws InputError
  /// naming the process that has the directory.
  explicit DirectoryClaim(const fs::path& directory);
  explicit operator bool() const noexcept { return file_ != nullptr; }
  /// Whether another process had the directory when this one asked for it.
  bool waited() const noexcept { return waited_; }
  /// Whether a run had claimed the directory before: its files are ours to replace.
  bool found_run() const noexcept { return found_run_; }
  /// Leaves the directory as it was found: a run that was refused proves nothing to the next one.
  void withdraw() noexcept;

 private:
  fs::path path_;
  std::unique_ptr<OpenFile> file_;
  bool waited_ = false;
  bool found_run_ = false;
};

// What an earlier run left in a run directory, and what of it goes: only what
// is a run's own, and only in a directory that this process has claimed.

/// Whether `directory` has the record or a checkpoint of a run.
bool holds_run(const fs::path& directory);

/// "completed" or "target reached", where the record of the run in `directory` says that of a run
/// of so many epochs; else empty.
std::string outcome_after(const fs::path& directory, std::size_t epochs);

/// Throws InputError where a run that begins in `directory` would replace what
/// no run left, unless --overwrite was given, which is answered with a list.
/// Checkpoints that lie behind a link, or hold anything else, are never removed.
void require_replaceable(const TrainConfig& config, const fs::path& directory,
                         const DirectoryClaim& claim);

/// Lets --resume auto begin anew where a run has begun that did not come far.
/// One that stopped as asked has left a checkpoint.
void make_way(const TrainConfig& config, const fs::path& directory);

/// Checkpoints that are later than the one that is resumed from go if the user
/// wants that; what cannot be read is kept under another name, because the disk
/// may be at fault.
void discard_later(const TrainConfig& config, const std::string& checkpoint,
                   const TrainPosition& from);

/// Removes the files that a killed process had not yet renamed; no other process writes here.
void remove_unfinished(const fs::path& directory);

/// Removes what an earlier run left, which must not mix with the files of the next one.
void remove_run(const fs::path& directory);

/// Claims the run directory that --resume means before anything is read from
/// it, so that no other process continues it meanwhile. Claims nothing where
/// the run writes elsewhere. Throws InputError where another process has it.
DirectoryClaim claim_to_resume(const TrainConfig& config);

/// Makes the directory that a run writes into; `claim` is to it, now or
/// already. Without --run-dir it is a new one,
/// `runs/<model>-np<ranks>-<number>`. Throws InputError where it cannot be made
/// or written, another process writes into it, or it holds an earlier run and
/// --overwrite was not given. With --resume auto an earlier run that has
/// neither ended nor left a checkpoint is set aside: run.json becomes
/// run-1.json, steps.csv becomes steps-1.csv, and so does epochs.csv.
std::string make_run_directory(const TrainConfig& config, int ranks, DirectoryClaim& claim);

/// The same for a run that resumes from `checkpoint`, which is at the position
/// `from`, in `config.output.run_dir`. In the checkpoint's own run directory its files
/// stay: steps.csv keeps the finished epochs, and checkpoints later than this
/// one go, with --overwrite, or are set aside, damaged; a whole one is refused.
/// Another directory must be new, as for any run.
std::string continue_run_directory(const TrainConfig& config, const std::string& checkpoint,
                                   const TrainPosition& from, DirectoryClaim& claim);

/// Whether `config.output.run_dir` is the run directory in which `checkpoint` lies.
bool resumes_in_place(const TrainConfig& config, const std::string& checkpoint);

/// Throws InputError naming `option` for a file that could not be written at
/// the end. An empty `path` is no file.
void check_output_file(const std::string& option, const std::string& path);

/// A line where --overwrite was given and replaces nothing; else empty. To be
/// asked before the run directory is made.
std::string overwrite_remark(const TrainConfig& config);

/// Checks before the training that --save-weights and --trace can be written
/// after it. Throws InputError where they cannot, or a file of weights would be
/// replaced without --overwrite that is not the resumed run's (`own_weights`).
void check_targets(const TrainConfig& config, bool own_weights);

}  // namespace rueda
