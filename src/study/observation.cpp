#include "rueda/study/observation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <stdexcept>

#include "rueda/train/options.hpp"

namespace rueda {
namespace {

Processor processor_of(const RunResult& run) {
  const std::string& backend = run.ranks.front().backend;
  if (backend == "timed") return Processor::timed;
  return backend == "cpu" ? Processor::cpu : Processor::gpu;
}

/// Threads that compute need a core each; a GPU's host threads and the timed backend's do not.
bool is_oversubscribed(const RunResult& run) {
  constexpr double kClockwork = 1e-6;  // cores are shares: 1/3 + 1/3 + 1/3
  return processor_of(run) == Processor::cpu &&
         std::ranges::any_of(run.ranks, [](const RankResult& rank) {
           return rank.threads > rank.cores * (1 + kClockwork);
         });
}

std::size_t common_batch(const std::vector<std::size_t>& batches) {
  const bool same = std::ranges::all_of(batches, [&](std::size_t b) { return b == batches[0]; });
  return same && !batches.empty() ? batches[0] : 0;
}

std::string unquoted(const std::string& json) {
  const bool quoted = json.size() >= 2 && json.front() == '"' && json.back() == '"';
  return quoted ? json.substr(1, json.size() - 2) : json;
}

std::string option_of(const Observation& seen, const std::string& name) {
  const auto& options = seen.runs.front()->options;
  const auto found = options.find(name);
  return found == options.end() ? "null" : unquoted(found->second);
}

void merge(Estimate& all, const std::vector<const Observation*>& repeats,
           Estimate Observation::*what) {
  std::vector<double> values;
  for (const Observation* repeat : repeats) {
    const Estimate& one = repeat->*what;
    if (!known(one)) continue;
    if (values.empty()) all = one;
    values.push_back(one.value);
    all.low = std::min(all.low, one.low);
    all.high = std::max(all.high, one.high);
  }
  all.value = median_of(values);
}

}  // namespace

const char* to_string(Processor processor) {
  constexpr std::array kWords = {"CPU", "GPU", "timed"};
  return kWords.at(static_cast<std::size_t>(processor));
}

Observation observe(const RunResult& run) {
  const auto steady = steady_epochs(run);
  if (steady.empty()) throw std::invalid_argument("no epoch was finished");
  std::vector<double> seconds;
  for (const EpochResult* e : steady) seconds.push_back(e->seconds);
  Observation seen;
  seen.source = "rueda";
  seen.model = run.model;
  seen.processor = processor_of(run);
  seen.image_size = run.image_size;
  seen.ranks = run.world_size();
  seen.hosts = run.hosts.size();
  seen.rank_batch = common_batch(run.rank_batches);
  seen.global_batch = run.global_batch;
  seen.images = steady.front()->images;
  seen.steps = steady.front()->steps;
  seen.epoch = exactly(median_of(seconds));
  seen.first_epoch = exactly(run.epochs.front().seconds);
  seen.full_step = exactly(run.steady_full_step_seconds.median);
  seen.mean_step = exactly(seen.epoch.value / static_cast<double>(seen.steps));
  seen.oversubscribed = is_oversubscribed(run);
  seen.includes_warm_up = run.epochs.size() == 1;
  seen.runs = {&run};
  return seen;
}

std::vector<Observation> observe_all(const std::vector<RunResult>& runs) {
  std::vector<Observation> all;
  for (const RunResult& run : runs) {
    if (!run.epochs.empty()) all.push_back(observe(run));
  }
  for (const TrainOption& option : train_options()) {
    if (option.timing != Timing::variant) continue;
    const std::string name = option.name;
    std::set<std::string> values;
    for (const Observation& seen : all) values.insert(option_of(seen, name));
    if (values.size() < 2) continue;
    for (Observation& seen : all) {
      seen.variant += (seen.variant.empty() ? "" : ", ") + name + " " + option_of(seen, name);
    }
  }
  return all;
}

Observation merged(const std::vector<const Observation*>& repeats) {
  Observation all = *repeats.front();
  all.repeats = repeats.size();
  for (const auto what : {&Observation::epoch, &Observation::first_epoch, &Observation::full_step,
                          &Observation::mean_step, &Observation::printed_epoch}) {
    merge(all.*what, repeats, what);
  }
  all.runs.clear();
  for (const Observation* repeat : repeats) {
    all.oversubscribed |= repeat->oversubscribed;
    all.includes_warm_up |= repeat->includes_warm_up;
    all.runs.insert(all.runs.end(), repeat->runs.begin(), repeat->runs.end());
  }
  return all;
}

}  // namespace rueda
