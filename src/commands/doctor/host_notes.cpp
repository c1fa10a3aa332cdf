#include "commands/doctor/host_notes.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "commands/doctor/facts.hpp"
#include "commands/doctor/process.hpp"
#include "launch/launcher.hpp"

namespace rueda::doctor {
namespace {

constexpr const char* kNoteWord = "host-";
constexpr std::size_t kMostBytes =
    1'000'000;  ///< of a host's file: thousands of cores or interfaces

bool is_strange(unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '@'; }

std::string value(const Environment& environment, const char* name) {
  const char* text = environment(name);
  if (text == nullptr) return "";
  return text;
}

/// A name that all processes of the job get from their launcher, and no other job; empty: none.
std::string name_of_job(const Environment& environment) {
  std::string name = value(environment, "PMIX_NAMESPACE");
  const std::string job = value(environment, "SLURM_JOB_ID");
  if (name.empty() && !job.empty()) name = job + "." + value(environment, "SLURM_STEP_ID");
  std::ranges::replace_if(name, is_strange, '_');
  return name.substr(0, 100);
}

}  // namespace

HostNotes::HostNotes(const Environment& environment) {
  const LaunchFacts launch = read_launch(environment);
  const std::string name = name_of_job(environment);
  if (launch.launched_size < 2 || name.empty()) return;
  // All on one host: nothing to compare.
  if (value(environment, "OMPI_COMM_WORLD_LOCAL_SIZE") == std::to_string(launch.launched_size))
    return;
  folder_ = ".rueda-doctor-" + name;
  if (launcher_local_rank(environment).value_or(0) == 0)
    file_ = kNoteWord + std::to_string(launcher_rank(environment));
}

void HostNotes::put(const RankFacts& facts) const {
  if (folder_.empty() || file_.empty()) return;
  std::error_code error;
  fs::create_directory(folder_, error);
  if (error || fs::symlink_status(folder_, error).type() != fs::file_type::directory) return;
  try {
    write_output(folder_ / file_, text_of(json_of(facts)));
  } catch (const std::exception&) {
    return;  // a folder that cannot be written
  }
}

std::map<std::string, RankFacts> HostNotes::read() const {
  std::map<std::string, RankFacts> all;
  if (folder_.empty()) return all;
  std::error_code error;
  for (const fs::path& path : entries_of(folder_, error)) {
    try {
      const auto json =
          parse_json(read_whole({.path = path, .name = path.string(), .remedy = ""}, kMostBytes));
      auto facts = value_from<RankFacts>(JsonView(json));
      const std::string host = printable(facts.host);
      all[host] = std::move(facts);
    } catch (const std::exception&) {
      continue;  // still being written, or not ours
    }
  }
  return all;
}

/// The notes, and the folder if nothing else lies there: the processes of a job
/// share it by its name, which is no proof.
void HostNotes::remove() const noexcept {
  std::error_code ignored;
  if (folder_.empty() || fs::symlink_status(folder_, ignored).type() != fs::file_type::directory)
    return;
  for (const fs::path& path : entries_of(folder_, ignored))
    if (path.filename().string().starts_with(kNoteWord)) fs::remove(path, ignored);
  fs::remove(folder_, ignored);
}

}  // namespace rueda::doctor
