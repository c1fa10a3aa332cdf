#include "run/run_directory.hpp"

#include <algorithm>
#include <system_error>

#include "base/error.hpp"
#include "record/run_json.hpp"
#include "run/checkpoint/checkpoint.hpp"
#include "run/resume/resume_point.hpp"

namespace rueda {
namespace {

/// "." where `path` is a name alone.
fs::path parent_of(const fs::path& path) {
  if (path.has_parent_path()) return path.parent_path();
  return ".";
}

void require_made(const fs::path& directory, const std::error_code& error) {
  require(!error, "cannot make the run directory " + directory.string() + ": " + error.message() +
                      "; choose another with --run-dir");
}

void create(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  require_made(directory, error);
  flush_directory(parent_of(directory));
}

/// Whether `directory` is --run-dir, which the run makes and tries itself.
bool names_run_directory(const TrainConfig& config, const fs::path& directory) {
  return !config.output.run_dir.empty() &&
         (fs::path(config.output.run_dir) / "").lexically_normal() ==
             (directory / "").lexically_normal();
}

/// Whether `directory` does not exist yet and the run will make it: its own, or one above it.
bool will_exist(const TrainConfig& config, const fs::path& directory) {
  std::error_code none;
  if (fs::exists(directory.empty() ? "." : directory, none)) return false;
  const auto whole = [&none](const fs::path& path) {
    return fs::absolute(path / "", none).lexically_normal();
  };
  const fs::path run = whole(config.output.run_dir.empty() ? "runs" : config.output.run_dir);
  const fs::path way = run.lexically_relative(whole(directory));
  return !way.empty() && *way.begin() != "..";
}

void require_writable(const fs::path& directory) {
  require(obstacle_to_output(directory / kRunJsonName).empty(),
          "cannot write into the run directory " + directory.string() +
              ": check its permissions and free space, or choose another with --run-dir");
}

/// `runs/<stem>-1`, or the first number that is free. Making the directory claims the number.
fs::path numbered_directory(const std::string& stem) {
  create("runs");
  for (int number = 1;; ++number) {
    const fs::path candidate = fs::path("runs") / (stem + "-" + std::to_string(number));
    std::error_code error;
    if (fs::create_directory(candidate, error)) return candidate;
    require_made(candidate, error);
  }
}

void check_weights_target(const TrainConfig& config, bool own_file) {
  if (!names_weights(config.output.save_weights)) return;
  const fs::path path = config.output.save_weights;
  std::error_code ignored;
  const auto refuse = [&](const std::string& why, const std::string& remedy) {
    throw InputError("--save-weights " + config.output.save_weights + ": " + why + "; " + remedy);
  };
  const std::string obstacle = obstacle_to_output(path);
  if (!path.has_filename() || (fs::exists(fs::symlink_status(path, ignored)) && !obstacle.empty()))
    refuse(obstacle, "give the path of a file to write");
  if (fs::is_regular_file(path, ignored) && !config.output.overwrite && !own_file)
    refuse("there is such a file", "give another path, or add --overwrite");
  const fs::path parent = parent_of(path);
  if (names_run_directory(config, parent)) {
    if (path.filename() != kCheckpointsName) return;
    refuse("the run keeps its checkpoints there", "give another name");
  }
  if (!fs::is_directory(parent, ignored))
    refuse("the directory " + parent.string() + " does not exist", "make it, or give another path");
  if (!obstacle.empty()) {
    refuse("the directory " + parent.string() + " can not be written",
           "check its permissions and free space, or give another path");
  }
}

}  // namespace

void check_output_file(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  const std::string obstacle = obstacle_to_output(path);
  require(obstacle.empty(), option + " " + path + ": a file cannot be written there: " + obstacle +
                                "; name one in a folder that exists and that you may write into");
}

std::string overwrite_remark(const TrainConfig& config) {
  std::error_code none;
  const bool weights =
      names_weights(config.output.save_weights) && fs::exists(config.output.save_weights, none);
  const bool replaces = weights || !config.checkpoints.resume.empty() ||
                        (!config.output.run_dir.empty() && holds_run(config.output.run_dir));
  if (!config.output.overwrite || replaces) return "";
  const std::string remark = "--overwrite has nothing to replace: ";
  if (config.output.run_dir.empty()) return remark + "the run gets a directory of its own";
  return remark + config.output.run_dir + " holds no run";
}

void check_targets(const TrainConfig& config, bool own_weights) {
  check_weights_target(config, own_weights);
  const fs::path folder = fs::path(config.output.trace).parent_path();
  if (!will_exist(config, folder)) check_output_file("--trace", config.output.trace);
}

bool resumes_in_place(const TrainConfig& config, const std::string& checkpoint) {
  std::error_code ignored;
  return fs::equivalent(config.output.run_dir, run_directory_of(checkpoint), ignored);
}

DirectoryClaim claim_to_resume(const TrainConfig& config) {
  if (config.checkpoints.resume.empty()) return {};
  std::error_code none;
  fs::path directory =
      config.checkpoints.resume == "auto" ? config.output.run_dir : config.checkpoints.resume;
  if (fs::exists(directory / kManifestName, none))
    directory = run_directory_of(config.checkpoints.resume);
  const bool elsewhere =
      !config.output.run_dir.empty() && !fs::equivalent(config.output.run_dir, directory, none);
  if (elsewhere || !holds_run(directory)) return {};
  return DirectoryClaim(directory);
}

std::string make_run_directory(const TrainConfig& config, int ranks, DirectoryClaim& claim) {
  if (config.output.run_dir.empty()) {
    const fs::path directory =
        numbered_directory(config.model.name + "-np" + std::to_string(ranks));
    claim = DirectoryClaim(directory);
    return directory.string();
  }
  const fs::path directory = config.output.run_dir;
  create(directory);
  if (!claim) claim = DirectoryClaim(directory);
  if (config.checkpoints.resume == "auto") make_way(config, directory);
  const char* why =
      " holds an earlier run: choose another with --run-dir, go on with it with --resume, or add "
      "--overwrite";
  if (claim.waited()) {
    why =
        " was in use until now, and holds what that run left: two runs that start together need "
        "two directories; choose another with --run-dir";
  }
  require(config.output.overwrite || !holds_run(directory),
          "the run directory " + directory.string() + why);
  try {
    require_replaceable(config, directory, claim);
  } catch (const InputError&) {
    claim.withdraw();
    throw;
  }
  std::error_code ignored;
  // A link is no file of a run; what it leads to is somebody else's.
  for (const char* name : kRunFiles)
    if (fs::is_symlink(directory / name, ignored)) fs::remove(directory / name, ignored);
  require_writable(directory);
  remove_run(directory);
  return directory.string();
}

std::string continue_run_directory(const TrainConfig& config, const std::string& checkpoint,
                                   const TrainPosition& from, DirectoryClaim& claim) {
  const fs::path directory = config.output.run_dir;
  if (resumes_in_place(config, checkpoint)) {
    if (!claim) claim = DirectoryClaim(directory);
    require_own_folder(directory / kCheckpointsName, kOwnCheckpoints);
    require_writable(directory);
    discard_later(config, checkpoint, from);
    remove_unfinished(directory);
  } else {
    TrainConfig fresh = config;
    fresh.checkpoints.resume.clear();
    make_run_directory(fresh, 1, claim);
  }
  const std::string origin = run_directory_of(checkpoint);
  for (const char* name : {kStepsCsvName, kRanksCsvName}) {
    fs::path rows;  // empty: the checkpoint lies alone
    if (!origin.empty()) rows = fs::path(origin) / name;
    copy_rows(rows, directory / name, from.epochs);
  }
  return config.output.run_dir;
}

}  // namespace rueda
