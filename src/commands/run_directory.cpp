#include "run_directory.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "rueda/core/error.hpp"
#include "rueda/report/run_json.hpp"

namespace rueda {
namespace {

namespace fs = std::filesystem;

void create(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    throw InputError("cannot make the run directory " + directory.string() + ": " +
                     error.message() + "; choose another with --run-dir");
  }
}

void require_writable(const fs::path& directory) {
  if (can_write_into(directory)) return;
  throw InputError("cannot write into the run directory " + directory.string() +
                   ": check its permissions and free space, or choose another with --run-dir");
}

/// `runs/<stem>-1`, or the first number that is free. Making the directory claims the number.
fs::path numbered_directory(const std::string& stem) {
  create("runs");
  for (int number = 1;; ++number) {
    const fs::path candidate = fs::path("runs") / (stem + "-" + std::to_string(number));
    std::error_code error;
    if (fs::create_directory(candidate, error)) return candidate;
    if (error) {
      throw InputError("cannot make the run directory " + candidate.string() + ": " +
                       error.message() + "; choose another with --run-dir");
    }
  }
}

}  // namespace

bool can_write_into(const fs::path& directory) {
  const fs::path probe = directory / ".rueda-write-test";
  std::ofstream file(probe);
  file << "x" << std::flush;
  const bool written = file.good();
  file.close();
  std::error_code ignored;
  fs::remove(probe, ignored);
  return written;
}

std::string make_run_directory(const TrainConfig& config, int ranks) {
  if (config.run_dir.empty()) {
    return numbered_directory(config.model + "-np" + std::to_string(ranks)).string();
  }
  const fs::path directory = config.run_dir;
  std::error_code ignored;
  if (!config.overwrite && fs::exists(directory / kRunJsonName, ignored)) {
    throw InputError("the run directory " + directory.string() +
                     " holds an earlier run: choose another with --run-dir, or add --overwrite");
  }
  create(directory);
  require_writable(directory);
  // Whatever this run leaves must not stand beside files of the one before.
  for (const char* name : {kRunJsonName, kStepsCsvName}) fs::remove(directory / name, ignored);
  return directory.string();
}

}  // namespace rueda
