#include "study/study.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/json_view.hpp"
#include "record/aggregation.hpp"
#include "record/run_json.hpp"

namespace rueda {
namespace {

namespace fs = std::filesystem;

const std::string kRunRemedy = "give the run.json of a rueda run, whole";

/// Over ranks.
double mean(const JsonView& j, const std::string& name) {
  return j.part(name).number_if_any("mean");
}

Spread spread(const JsonView& above, const std::string& name) {
  if (!above.has(name)) return spread_of({});
  const JsonView j = above.at(name);
  return {.count = j.count("count"),
          .min = j.number_if_any("min"),
          .mean = j.number_if_any("mean"),
          .median = j.number_if_any("median"),
          .p90 = j.number_if_any("p90"),
          .max = j.number_if_any("max"),
          .deviation = j.number_if_any("deviation")};
}

PhaseSeconds phases(const JsonView& above) {
  const JsonView j = above.part("phases");
  PhaseSeconds seconds;
  for (std::size_t p = 0; p < kPhases; ++p) seconds[p] = mean(j, std::string(kPhaseNames[p]));
  return seconds;
}

MeanStep mean_step(const JsonView& above, const std::string& name) {
  const JsonView j = above.part(name);
  MeanStep step{.seconds = mean(j, "seconds"), .phases = phases(j)};
  if (above.has(name)) step.count = j.count("count");
  return step;
}

CommunicationResult communication(const JsonView& j) {
  CommunicationResult result;
  result.bytes = j.number_if_any("bytes_per_step");
  result.busy = mean(j, "busy");
  result.exposed = mean(j, "exposed");
  result.wait = mean(j, "wait");
  result.transfer = mean(j, "transfer");
  result.add = mean(j, "add");
  result.algbw = j.number_if_any("algbw_GBps");
  result.busbw = j.number_if_any("busbw_GBps");
  for (const JsonView& b : j.items("buckets")) {
    result.buckets.push_back(
        {b.number_if_any("bytes"), spread(b, "busy"), spread(b, "transfer"), spread(b, "add")});
  }
  return result;
}

EpochResult epoch(const JsonView& j) {
  const JsonView energy = j.part("energy");
  const JsonView efficiency = j.part("efficiency");
  EpochResult e{.steps = j.count("steps"),
                .resumed = j.has("resumed_at_step"),
                .images = double(j.count("samples")),
                .seconds = j.number("seconds"),
                .val_accuracy = j.number_if_any("val_accuracy"),
                .energy = {energy.number_if_any("joules"), energy.number_if_any("host_joules")},
                .phases = phases(j),
                .communication = communication(j.part("communication")),
                .efficiency = {efficiency.number_if_any("useful_mean"),
                               efficiency.number_if_any("useful_max"),
                               efficiency.number_if_any("ideal_network"), j.number("seconds")},
                .ranks = {}};
  for (const JsonView& r : j.items("ranks")) {
    e.ranks.push_back(spread(r, "full_step_compute_seconds"));
    e.least_core_share = std::fmin(e.least_core_share, r.number_if_any("core_share"));
  }
  if (!(e.seconds > 0)) j.at("seconds").refuse("is not positive");
  return e;
}

void read_work(RunResult& run, const JsonView& j) {
  for (const auto& [name, value] : j.fields("config")) run.options[name] = value.json().dump();
  run.precision = j.at("config").text_if_any("precision");
  run.model = j.at("model").text("name");
  run.image_size = j.at("model").count("image_size");
  run.train_images = j.at("data").count("train_images");
  const JsonView batch = j.at("batch");
  run.global_batch = batch.positive("global");
  for (const JsonView& b : batch.items("per_rank")) run.rank_batches.push_back(b.positive());
  run.micro_batches = batch.positive("micro_batches");
  const JsonView all_reduce = j.at("all_reduce");
  run.all_reduce = all_reduce.text("algorithm");
  run.overlaps = all_reduce.has("overlaps_backward") && all_reduce.at("overlaps_backward").flag();
  for (const JsonView& b : all_reduce.items("bucket_bytes")) run.bucket_bytes.push_back(b.number());
}

void read_ranks(RunResult& run, const JsonView& j) {
  for (const JsonView& host : j.items("hosts")) run.hosts.push_back(host.text());
  for (const JsonView& r : j.items("ranks")) {
    run.ranks.push_back({r.text("host"), r.text("backend"), r.text_if_any("device"),
                         r.number_if_any("threads"), r.number_if_any("cores"),
                         r.number_if_any("memory_bytes")});
  }
  if (run.ranks.empty() || run.ranks.size() != run.rank_batches.size())
    j.at("ranks").refuse("does not have an entry for each rank of batch.per_rank");
  for (const auto& [name, item] : j.fields("startup"))
    run.startup.emplace_back(name, item.number_if_any("max"));
}

void read_summary(RunResult& run, const JsonView& j) {
  run.failure = j.text_if_any("failure");
  run.steady_full_step = mean_step(j, "steady_full_step");
  run.steady_full_step_seconds = spread(j, "steady_full_step_seconds");
  run.steady_communication = communication(j.part("steady_communication"));
  run.startup_seconds = j.number_if_any("startup_seconds");
}

constexpr const char* kAttemptName = "attempt.json";
constexpr std::size_t kMostAttemptBytes = 10'000'000;
constexpr int kMostLevels = 5;
const std::string kAttemptRemedy = "give the attempt.json that jobs/scale.sh wrote";

/// Below 0 where a signal ended it.
int exit_code(const JsonView& j) {
  constexpr double kMost = 1'000'000;
  const double code = j.number();
  if (!(code >= -kMost && code <= kMost)) j.refuse("is no exit code");
  return int(code);
}

std::size_t count_if_any(const JsonView& j, const std::string& name) {
  if (!j.has(name)) return 0;
  return j.count(name);
}

Attempt read_attempt(const fs::path& file) {
  const InputFile input{file, file.string(), kAttemptRemedy};
  const JsonView::Json json = read_json(input, kMostAttemptBytes);
  const JsonView j(json, input);
  j.require_kind("rueda-attempt", "attempt.json");
  return {.file = file,
          .model = j.text("model"),
          .ranks = j.positive("ranks"),
          .rank_batch = count_if_any(j, "batch_per_rank"),
          .global_batch = count_if_any(j, "global_batch"),
          .exit_code = exit_code(j.at("exit_code")),
          .message = j.text_if_any("message")};
}

/// Files of each folder before those of the folders in it, these by name. What
/// cannot be listed is left out.
void list_files(const fs::path& folder, int level, std::vector<fs::path>& files) {
  std::error_code error;
  for (const char* name : {kRunJsonName, kAttemptName})
    if (fs::is_regular_file(folder / name, error)) files.push_back(folder / name);
  if (level == kMostLevels) return;
  std::vector<fs::path> below;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->is_directory(error) && !it->is_symlink(error)) below.push_back(it->path());
  std::ranges::sort(below);
  for (const fs::path& next : below) list_files(next, level + 1, files);
}

void load_file(Study& study, const fs::path& path) {
  if (path.filename() == kAttemptName) {
    Attempt attempt = read_attempt(path);
    if (attempt.exit_code != 0) study.failed.push_back(std::move(attempt));
    return;
  }
  RunResult run = read_run(path);
  if (run.epochs.empty())
    study.empty_runs.push_back(std::move(run));
  else
    study.runs.push_back(std::move(run));
}

/// The files of a place: itself, or those in it and below.
std::vector<fs::path> files_of(const fs::path& place) {
  std::error_code error;
  require(fs::exists(place, error),
          place.string() + ": there is no such file or directory; name run directories " +
              "of rueda train, or the directory of a study");
  if (!fs::is_directory(place, error)) return {place};
  std::vector<fs::path> files;
  list_files(place, 0, files);
  return files;
}

/// What it is named by where that can be followed to the end, else the name.
fs::path real_path(const fs::path& file) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(file, error);
  if (error) return file;
  return real;
}

/// Throws InputError: that none of the places holds a run.
[[noreturn]] void refuse_places(const std::vector<fs::path>& places, const Study& study) {
  std::string why;
  if (!study.unreadable.empty()) why = " that can be read (" + study.unreadable.front().why + ")";
  throw InputError(places.front().string() + ": no run.json below it" + why +
                   "; name run directories of rueda train, or the directory of a study");
}

std::size_t depth_of_model(const RunResult& run) { return depth_of(run.model); }
std::size_t ranks_of_epoch(const EpochResult& epoch) { return epoch.ranks.size(); }
void take_mean(double& one, double two) { one = (one + two) / 2; }

std::span<const EpochResult> stretch_of(const RunResult& run) {
  return steady_stretch(std::span(run.epochs), &EpochResult::resumed, ranks_of_epoch);
}

}  // namespace

RunResult read_run(const std::filesystem::path& file) {
  const InputFile input{file, file.string(), kRunRemedy};
  const JsonView::Json json = read_json(input);
  const JsonView j(json, input);
  j.require_schema("rueda-run", kRunSchemaVersion, "run.json");
  RunResult run;
  run.file = file;
  run.outcome = j.text("outcome");
  for (const auto& [name, value] : j.fields("versions")) run.versions[name] = value.text();
  read_work(run, j);
  read_ranks(run, j);
  for (const JsonView& e : j.items("epochs")) run.epochs.push_back(epoch(e));
  read_summary(run, j.at("summary"));
  return run;
}

std::span<const EpochResult> steady_epochs(const RunResult& run) {
  const auto stretch = stretch_of(run);
  if (stretch.empty() && !run.epochs.empty()) return std::span(run.epochs).last(1);
  return stretch;
}

bool includes_warm_up(const RunResult& run) {
  return !run.epochs.empty() && stretch_of(run).empty();
}

EpochResult middle_epoch(const RunResult& run) {
  std::vector<const EpochResult*> epochs;
  for (const EpochResult& epoch : steady_epochs(run)) epochs.push_back(&epoch);
  std::ranges::sort(epochs, {}, &EpochResult::seconds);
  EpochResult middle = *epochs.at(epochs.size() / 2);
  const EpochResult& other = *epochs.at((epochs.size() - 1) / 2);

  take_mean(middle.seconds, other.seconds);
  take_mean(middle.energy.gpus, other.energy.gpus);
  take_mean(middle.energy.hosts, other.energy.hosts);
  for (std::size_t p = 0; p < kPhases; ++p) take_mean(middle.phases[p], other.phases[p]);
  for (const auto part :
       {&CommunicationTimes::busy, &CommunicationTimes::exposed, &CommunicationTimes::wait,
        &CommunicationTimes::transfer, &CommunicationTimes::add})
    take_mean(middle.communication.*part, other.communication.*part);
  return middle;
}

Study load_study(const std::vector<fs::path>& places) {
  Study study;
  std::set<fs::path> seen;  // each file counts once, however it was named
  for (const fs::path& place : places) {
    for (const fs::path& file : files_of(place)) {
      try {
        if (seen.insert(real_path(file)).second) load_file(study, file);
      } catch (const InputError& error) {
        if (file == place || file.parent_path() == place) throw;
        study.unreadable.push_back({file, error.what()});
      }
    }
  }
  std::ranges::stable_sort(study.runs, {}, depth_of_model);
  const bool nothing = study.runs.empty() && study.empty_runs.empty() && study.failed.empty();
  if (nothing && !places.empty()) refuse_places(places, study);
  return study;
}

}  // namespace rueda
