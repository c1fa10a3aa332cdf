#include "rueda/study/study.hpp"

#include <algorithm>
#include <set>

#include "json_view.hpp"
#include "rueda/core/error.hpp"
#include "rueda/record/run_json.hpp"

namespace rueda {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAttemptName = "attempt.json";
constexpr std::size_t kMostAttemptBytes = 10'000'000;
constexpr int kMostLevels = 5;
const std::string kAttemptRemedy = "give the attempt.json that jobs/scale.sh wrote";

/// Below 0 where a signal ended it.
int exit_code(const JsonView& j) {
  constexpr double kMost = 1'000'000;
  const double code = j.number();
  if (!(code >= -kMost && code <= kMost)) j.refuse("is no exit code");
  return static_cast<int>(code);
}

Attempt read_attempt(const fs::path& file) {
  const InputFile input{file, file.string(), kAttemptRemedy};
  const JsonView::Json json = read_json(input, kMostAttemptBytes);
  const JsonView j(json, input);
  if (!j.has("schema") || j.json()["schema"] != "rueda-attempt") j.refuse("is no attempt.json");
  Attempt attempt{.file = file,
                  .model = j.text("model"),
                  .ranks = j.positive("ranks"),
                  .rank_batch = 0,
                  .global_batch = 0,
                  .exit_code = exit_code(j.at("exit_code")),
                  .message = j.text_if_any("message")};
  if (j.has("batch_per_rank")) attempt.rank_batch = j.count("batch_per_rank");
  if (j.has("global_batch")) attempt.global_batch = j.count("global_batch");
  return attempt;
}

/// Collects; each file once, however it was named.
class Loader {
 public:
  void place(const fs::path& path) {
    std::error_code error;
    if (fs::is_directory(path, error)) return folder(path, 0);
    if (fs::exists(path, error)) return file(path);
    throw InputError(path.string() + ": there is no such file or directory; name run directories " +
                     "of rueda train, or the directory of a study");
  }

  Study take() { return std::move(study_); }

 private:
  void folder(const fs::path& path, int level) {
    for (const char* name : {kRunJsonName, kAttemptName}) {
      std::error_code error;
      if (!fs::is_regular_file(path / name, error)) continue;
      level == 0 ? file(path / name) : try_file(path / name);
    }
    if (level == kMostLevels) return;
    for (const fs::path& below : folders_of(path)) folder(below, level + 1);
  }

  static std::vector<fs::path> folders_of(const fs::path& path) {
    std::vector<fs::path> folders;
    std::error_code error;
    for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
      if (it->is_directory(error) && !it->is_symlink(error)) folders.push_back(it->path());
    }
    std::ranges::sort(folders);
    return folders;
  }

  void try_file(const fs::path& path) {
    try {
      file(path);
    } catch (const InputError& error) {
      study_.unreadable.push_back({path, error.what()});
    }
  }

  void file(const fs::path& path) {
    if (!seen_.insert(fs::weakly_canonical(path)).second) return;
    if (path.filename() == kAttemptName) {
      Attempt attempt = read_attempt(path);
      if (attempt.exit_code != 0) study_.failed.push_back(std::move(attempt));
      return;
    }
    RunResult run = read_run(path);
    auto& runs = run.epochs.empty() ? study_.empty_runs : study_.runs;
    runs.push_back(std::move(run));
  }

  Study study_;
  std::set<fs::path> seen_;
};

}  // namespace

Study load_study(const std::vector<fs::path>& places) {
  Loader loader;
  for (const fs::path& place : places) loader.place(place);
  Study study = loader.take();
  const bool nothing = study.runs.empty() && study.empty_runs.empty() && study.failed.empty();
  if (nothing && !places.empty()) {
    const std::string why =
        study.unreadable.empty() ? "" : " that can be read (" + study.unreadable.front().why + ")";
    throw InputError(places.front().string() + ": no run.json below it" + why +
                     "; name run directories of rueda train, or the directory of a study");
  }
  return study;
}

}  // namespace rueda
