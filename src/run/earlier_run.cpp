#include <algorithm>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "base/json/bounded_json.hpp"
#include "base/json/json_view.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "base/text_input.hpp"
#include "record/run_json.hpp"
#include "record/run_status.hpp"
#include "run/checkpoint/checkpoint.hpp"
#include "run/run_directory.hpp"

namespace rueda {
namespace {

bool is_whole(const fs::path& checkpoint) {
  try {
    verify_checkpoint(checkpoint);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

/// Whether a regular file is there: a folder of that name is no file of a run, even an empty one.
bool is_file(const fs::path& path) {
  std::error_code none;
  return fs::symlink_status(path, none).type() == fs::file_type::regular;
}

/// run.json becomes run-1.json, or the first number that is free.
void set_aside(const fs::path& directory) {
  int number = 1;
  const auto name = [&](const char* file) {
    const fs::path path = directory / file;
    return directory /
           (path.stem().string() + "-" + std::to_string(number) + path.extension().string());
  };
  std::error_code missing;
  while (std::ranges::any_of(kRunFiles, [&](auto* f) { return fs::exists(name(f), missing); }))
    ++number;
  for (const char* file : kRunFiles) fs::rename(directory / file, name(file), missing);
}

/// How a run ended by its run.json; empty and 0 where that cannot be read.
struct RecordedEnd {
  std::string outcome;
  std::size_t epochs = 0;
};

RecordedEnd recorded_end(const fs::path& directory) {
  RecordedEnd end;
  const InputFile file{directory / kRunJsonName, "", ""};
  try {
    const auto json = parse_json(read_text(file, kMostJsonBytes), file);
    const JsonView run(json);
    end.outcome = run.at("outcome").raw_text();
    end.epochs = run.items("epochs").size();
  } catch (const InputError&) {  // a record that cannot be read says nothing
  }
  return end;
}

bool ended_by_itself(const std::string& outcome) {
  return outcome == "completed" || outcome == "target reached";
}

/// The outcome of the run there, if it left no checkpoint; empty: it did, or it is not known.
std::string outcome_in(const fs::path& directory) {
  if (!list_checkpoints(directory / kCheckpointsName).empty()) return "";
  return recorded_end(directory).outcome;
}

/// A checkpoint that is to go holds nothing else.
void require_own_files(const fs::path& checkpoint) {
  const std::string foreign = foreign_file_in(checkpoint);
  require(foreign.empty(), checkpoint.string() + " holds " + printable(foreign) +
                               ", which is no file of a checkpoint: move it away first");
}

}  // namespace

bool holds_run(const fs::path& directory) {
  std::error_code ignored;
  return fs::exists(directory / kRunJsonName, ignored) ||
         !list_checkpoints(directory / kCheckpointsName).empty();
}

std::string outcome_after(const fs::path& directory, std::size_t epochs) {
  const RecordedEnd end = recorded_end(directory);
  return ended_by_itself(end.outcome) && end.epochs == epochs ? end.outcome : "";
}

void require_replaceable(const TrainConfig& config, const fs::path& directory,
                         const DirectoryClaim& claim) {
  std::vector<std::string> replaced;
  for (const char* name : kRunFiles)
    if (is_file(directory / name)) replaced.emplace_back(name);
  require(replaced.empty() || config.output.overwrite || claim.found_run(),
          "the run directory " + directory.string() + " holds " + joined(replaced, ", ") +
              ", and no run of rueda has been there: choose another with --run-dir, or add "
              "--overwrite to replace what is named");
  const fs::path checkpoints = directory / kCheckpointsName;
  require_own_folder(checkpoints, kOwnCheckpoints);
  for (const fs::path& checkpoint : list_checkpoints(checkpoints)) {
    require_own_files(checkpoint);
    replaced.push_back(std::string(kCheckpointsName) + "/" + checkpoint.filename().string());
  }
  if (config.output.overwrite && !replaced.empty())
    log(LogLevel::info,
        "--overwrite removes from " + directory.string() + ": " + joined(replaced, ", "));
}

void make_way(const TrainConfig& config, const fs::path& directory) {
  const std::string outcome = outcome_in(directory);
  require(
      outcome != "stopped" || config.output.overwrite,
      "--resume auto: the run in " + directory.string() + " stopped and left a checkpoint, but " +
          (directory / kCheckpointsName).string() +
          " has none: is a disk not mounted? Bring them back, or add --overwrite to begin anew");
  if (!outcome.empty() && !ended_by_itself(outcome)) set_aside(directory);
}

void discard_later(const TrainConfig& config, const std::string& checkpoint,
                   const TrainPosition& from) {
  std::vector<fs::path> all = list_checkpoints(fs::path(config.output.run_dir) / kCheckpointsName);
  std::erase_if(all, [&from](const fs::path& one) { return !is_later(one, from); });
  for (const fs::path& later : all) {
    require(config.output.overwrite || !is_whole(later),
            "--resume " + checkpoint + ": its run has a later checkpoint, " + later.string() +
                ": resume from that one, give another --run-dir, or add "
                "--overwrite to give up what is later");
    if (config.output.overwrite) require_own_files(later);  // before any of them goes
  }
  for (const fs::path& later : all) {
    if (!config.output.overwrite) {
      set_checkpoint_aside(later);
      continue;
    }
    log(LogLevel::info, "--overwrite removes " + later.string());
    discard_checkpoint(later);
  }
}

void remove_unfinished(const fs::path& directory) {
  std::error_code error;
  for (const fs::path& path : entries_of(directory, error)) {
    for (const char* file : {kRunJsonName, kStepsCsvName, kRanksCsvName, kEpochsCsvName,
                             kStatusName, kFinalWeightsName})
      if (is_temporary_of(path.filename().string(), file)) fs::remove(path, error);
  }
  remove_unfinished_checkpoints(directory / kCheckpointsName);
}

void remove_run(const fs::path& directory) {
  std::error_code ignored;
  for (const char* name : kRunFiles)
    if (is_file(directory / name)) fs::remove(directory / name, ignored);
  remove_older_checkpoints(directory / kCheckpointsName, 0);
  remove_unfinished(directory);
}

}  // namespace rueda
