#include "run_files.hpp"

#include <algorithm>
#include <filesystem>

#include "rueda/core/error.hpp"
#include "rueda/core/printable.hpp"
#include "rueda/report/run_json.hpp"

namespace rueda {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const fs::path file = entry.path() / kRunJsonName;
    if (fs::is_regular_file(file, ignored)) files.push_back(file);
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<fs::path> files_of(const std::string& place) {
  std::error_code ignored;
  if (!fs::is_directory(place, ignored)) return {place};
  const fs::path own = fs::path(place) / kRunJsonName;
  if (fs::is_regular_file(own, ignored)) return {own};
  auto files = files_below(place);
  if (files.empty()) {
    throw InputError("no run in " + printable(place) +
                     ": there is neither a run.json nor a directory with one; give the "
                     "--run-dir of runs, or the directory in which these lie");
  }
  return files;
}

}  // namespace

std::vector<RunResult> read_runs(const std::vector<std::string>& places) {
  std::vector<RunResult> runs;
  for (const std::string& place : places) {
    for (const fs::path& file : files_of(place)) runs.push_back(read_run(file));
  }
  return runs;
}

}  // namespace rueda
