#include "study.hpp"

#include <algorithm>

#include "rueda/core/error.hpp"
#include "rueda/study/study.hpp"

namespace rueda {
namespace {

using namespace predict;

constexpr std::size_t kUsualImages = 50'000;  // CIFAR-10

std::vector<RunResult> on_ranks(const std::vector<RunResult>& runs,
                                const std::vector<std::size_t>& ranks) {
  std::vector<RunResult> chosen;
  for (const RunResult& run : runs) {
    if (ranks.empty() || std::ranges::count(ranks, run.world_size()) > 0) chosen.push_back(run);
  }
  return chosen;
}

/// Runs without an epoch, and files that cannot be read, are told in `remarks`.
void read_runs(const std::vector<std::string>& places, std::vector<RunResult>& runs,
               std::vector<std::string>& remarks) {
  if (places.empty()) return;
  Study found = load_study({places.begin(), places.end()});
  runs = std::move(found.runs);
  for (const RunResult& run : found.empty_runs) {
    remarks.push_back(run.file.string() + " has no finished epoch and is left out.");
  }
  for (const Unreadable& file : found.unreadable) remarks.push_back(file.why);
  if (runs.empty()) {
    throw InputError(
        "no run to predict from: " +
        (remarks.empty() ? "none of those that were started has a run.json" : remarks.front()));
  }
}

/// The run that the scenario goes by where nothing is given.
const RunResult* example(const PredictStudy& study) {
  const auto is_it = [&](const RunResult& run) { return run.model == study.fit.network; };
  const auto found = std::ranges::find_if(study.runs, is_it);
  if (found != study.runs.end()) return &*found;
  return study.runs.empty() ? nullptr : &study.runs.front();
}

bool overlaps(const PredictOptions& options, const PredictStudy& study) {
  if (options.overlap != OverlapChoice::as_runs) return options.overlap == OverlapChoice::on;
  return std::ranges::any_of(study.runs, &RunResult::overlaps);
}

std::size_t batch_of_rank(const PredictOptions& options, const RunResult* run) {
  if (options.batch_per_rank > 0) return options.batch_per_rank;
  if (run != nullptr) return run->rank_batches.front();
  throw InputError("no run and no batch: give --batch-per-rank or --global-batch");
}

std::size_t images_of(const PredictOptions& options, const RunResult* run) {
  if (options.images > 0) return options.images;
  return run != nullptr ? run->train_images : kUsualImages;
}

}  // namespace

PredictStudy read_study(const PredictOptions& options) {
  PredictStudy study;
  std::vector<std::string> remarks;
  read_runs(options.runs, study.runs, remarks);
  std::vector<BenchResult> benches;
  for (const std::string& file : options.benches) benches.push_back(read_bench(file));
  const auto usable = usable_runs(study.runs, remarks);
  const auto fitted = on_ranks(usable, options.fit_ranks);
  if (fitted.empty() && !study.runs.empty() && options.compute.empty()) {
    throw InputError(
        "none of the runs can be fitted to: " +
        (remarks.empty() ? "--fit-ranks names none of their numbers of ranks" : remarks.front()));
  }
  study.fit = fit_cost(fitted, benches, options.target, options.given);
  study.fit.notes.insert(study.fit.notes.begin(), remarks.begin(), remarks.end());
  return study;
}

Scenario scenario_on(const PredictOptions& options, const PredictStudy& study, std::size_t ranks) {
  const RunResult* run = example(study);
  const std::size_t images = images_of(options, run);
  if (ranks > images) {
    throw InputError("--ranks " + std::to_string(ranks) + ": more than the " +
                     std::to_string(images) + " images of an epoch; give fewer, or --images");
  }
  const std::size_t global =
      options.global_batch > 0 ? options.global_batch : batch_of_rank(options, run) * ranks;
  return {.ranks = ranks,
          .global_batch = global,
          .images = images,
          .micro_batches = 1,
          .scheme = options.scheme,
          .overlap = overlaps(options, study),
          .message_delay = 0};
}

}  // namespace rueda
