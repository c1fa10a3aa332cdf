#include "study/study.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/json/json_fields.hpp"
#include "record/json_parts.hpp"
#include "record/recorded_options.hpp"
#include "record/run_json.hpp"
#include "rueda/data/dataset.hpp"

namespace rueda {
namespace {

namespace fs = std::filesystem;

const std::string kRunRemedy = "give the run.json of a rueda run, whole";

/// What no run is without. So a batch of none is refused as such.
void check_work(const JsonView& j) {
  j.at("model").count("image_size");
  const JsonView batch = j.at("batch");
  batch.positive("global");
  batch.positive("micro_batches");
  for (const JsonView& b : batch.items("per_rank")) b.positive();
}

void read_options(RunResult& run, const JsonView& j) {
  nlohmann::ordered_json recorded;
  for (const auto& [name, value] : j.fields("config")) recorded[name] = value.json();
  const auto options = recorded_options(recorded);
  for (const auto& [name, value] : options.items()) run.options[name] = value.dump();
  run.precision = j.at("config").text_if_any("precision");
}

void read_ranks(RunResult& run, const JsonView& j) {
  if (run.ranks.empty() || run.ranks.size() != run.rank_batches.size())
    j.at("ranks").refuse("does not have an entry for each rank of batch.per_rank");
  for (const JsonView& r : j.items("ranks"))
    run.memory_bytes = std::fmax(run.memory_bytes, r.number_if_any("memory_bytes"));
  if (j.has("startup")) read_value(j.at("startup"), run.startup);
}

void read_epochs(RunResult& run, const JsonView& j) {
  for (const JsonView& e : j.items("epochs")) {
    read_epoch(e, run.epochs.emplace_back());
    if (!(run.epochs.back().seconds > 0)) e.at("seconds").refuse("is not positive");
  }
}

const std::string kEvaluationRemedy = "write it again with rueda evaluate --json, or remove it";

void check_sample(const JsonView& j, std::size_t classes) {
  j.at("label").whole(0, double(classes - 1));
  j.at("predicted").whole(0, double(classes - 1));
  const std::string rgb = j.at("rgb").raw_text();
  const bool hex = rgb.find_first_not_of("0123456789abcdef") == rgb.npos;
  if (!hex || rgb.size() != 2 * kImageBytes) j.at("rgb").refuse("is no image of 32 x 32 pixels");
}

/// What those who draw rely on: as many rows and columns as classes, and images of these classes.
void check_answers(const JsonView& j) {
  const std::size_t classes = j.at("classes").elements().size();
  if (classes == 0) j.at("classes").refuse("has no class");
  const std::vector<JsonView> rows = j.at("confusion").elements();
  if (rows.size() != classes) j.at("confusion").refuse("does not have a row for each class");
  for (const JsonView& row : rows)
    if (row.elements().size() != classes) row.refuse("does not have a column for each class");
  const JsonView samples = j.part("samples");
  for (const char* kind : {"first", "mistakes"})
    for (const JsonView& sample : samples.items(kind)) check_sample(sample, classes);
}

EvaluationRecord read_evaluation(const fs::path& file) {
  const InputFile input{file, file.string(), kEvaluationRemedy};
  const JsonView::Json json = read_json(input);
  const JsonView j(json, input);
  j.require_schema(kEvaluationSchema, kEvaluationVersion, kEvaluationName);
  EvaluationRecord evaluation;
  evaluation.weights = j.text_if_any("weights");
  read_fields(j, evaluation.score, kTestScoreFields);
  check_answers(j);
  read_fields(j, evaluation, kAnswerFields);
  return evaluation;
}

/// Of the run in its directory, which was read before it.
void load_evaluation(Study& study, const fs::path& file) {
  for (RunResult& run : study.runs)
    if (run.file.parent_path() == file.parent_path()) run.evaluation = read_evaluation(file);
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

const std::tuple kAttemptFields{Field{"model", &Attempt::model, shown},
                                Field{"ranks", &Attempt::ranks},
                                Field{"batch_per_rank", &Attempt::rank_batch, if_any},
                                Field{"global_batch", &Attempt::global_batch, if_any},
                                Field{"message", &Attempt::message, shown, if_any}};

Attempt read_attempt(const fs::path& file) {
  const InputFile input{file, file.string(), kAttemptRemedy};
  const JsonView::Json json = read_json(input, kMostAttemptBytes);
  const JsonView j(json, input);
  j.require_kind("rueda-attempt", "attempt.json");
  j.positive("ranks");
  Attempt attempt;
  attempt.file = file;
  read_fields(j, attempt, kAttemptFields);
  attempt.exit_code = exit_code(j.at("exit_code"));
  return attempt;
}

/// Files of each folder before those of the folders in it, these by name, and a link that leads
/// nowhere, so that a run is not missed in silence. What cannot be listed is left out.
void list_files(const fs::path& folder, int level, std::vector<fs::path>& files) {
  std::error_code error;
  for (const char* name : {kRunJsonName, kAttemptName, kEvaluationName})
    if (fs::exists(fs::symlink_status(folder / name, error))) files.push_back(folder / name);
  if (level == kMostLevels) return;
  std::vector<fs::path> below;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->is_directory(error) && !it->is_symlink(error)) below.push_back(it->path());
  std::ranges::sort(below);
  for (const fs::path& next : below) list_files(next, level + 1, files);
}

void load_file(Study& study, const fs::path& path) {
  if (path.filename() == kEvaluationName) return load_evaluation(study, path);
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

std::size_t depth_of_model(const RunResult& run) { return depth_of(model_of(run)); }
bool is_resumed(const EpochFigures& epoch) { return epoch.resumed_at_step.has_value(); }
void take_mean(double& one, double two) { one = (one + two) / 2; }

std::span<const EpochFigures> stretch_of(const RunResult& run) {
  return steady_stretch(std::span(run.epochs), is_resumed, &EpochFigures::ranks);
}

}  // namespace

std::string folder_name(const fs::path& file) {
  const auto folder = file.parent_path().filename().string();
  if (folder.empty()) return file.string();
  return folder;
}

RunResult read_run(const std::filesystem::path& file) {
  const InputFile input{file, file.string(), kRunRemedy};
  const JsonView::Json json = read_json(input);
  const JsonView j(json, input);
  j.require_schema(kRunSchema, kRunSchemaVersion, "run.json");
  check_work(j);
  RunResult run;
  read_facts(j, run);
  run.file = file;
  read_options(run, j);
  read_ranks(run, j);
  read_epochs(run, j);
  run.summary = read_summary(j.at("summary"));
  return run;
}

std::vector<std::size_t> batches_of(const RunResult& run, const EpochFigures& epoch) {
  if (epoch.rank_batches.empty()) return run.rank_batches;
  return epoch.rank_batches;
}

std::string balance_of(const RunResult& run) {
  const auto found = run.options.find("balance");
  if (found == run.options.end() || found->second.size() < 2) return "equal";
  return found->second.substr(1, found->second.size() - 2);  // a text in JSON
}

std::span<const EpochFigures> steady_epochs(const RunResult& run) {
  const auto stretch = stretch_of(run);
  if (stretch.empty() && !run.epochs.empty()) return std::span(run.epochs).last(1);
  return stretch;
}

bool includes_warm_up(const RunResult& run) {
  return !run.epochs.empty() && stretch_of(run).empty();
}

EpochFigures middle_epoch(const RunResult& run) {
  std::vector<const EpochFigures*> epochs;
  for (const EpochFigures& epoch : steady_epochs(run)) epochs.push_back(&epoch);
  std::ranges::sort(epochs, {}, &EpochFigures::seconds);
  EpochFigures middle = *epochs.at(epochs.size() / 2);
  const EpochFigures& other = *epochs.at((epochs.size() - 1) / 2);

  take_mean(middle.seconds, other.seconds);
  take_mean(middle.energy.gpus, other.energy.gpus);
  take_mean(middle.energy.hosts, other.energy.hosts);
  for (std::size_t p = 0; p < kPhases; ++p) take_mean(middle.phases[p].mean, other.phases[p].mean);
  StepBreakdown& steps = middle.all_steps.mean;
  const StepBreakdown& others = other.all_steps.mean;
  take_mean(steps.phases[kAllReduce].mean, others.phases[kAllReduce].mean);
  for (const auto part :
       {&StepBreakdown::busy, &StepBreakdown::wait, &StepBreakdown::transfer, &StepBreakdown::add})
    take_mean((steps.*part).mean, (others.*part).mean);
  return middle;
}

double least_core_share(const EpochFigures& epoch) {
  double least = kUnknown;
  for (const RankFigures& rank : epoch.of_ranks) least = std::fmin(least, rank.core_share);
  return least;
}

PhaseSeconds means_of(const std::array<Spread, kPhases>& phases) {
  PhaseSeconds means;
  for (std::size_t p = 0; p < kPhases; ++p) means[p] = phases[p].mean;
  return means;
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
