#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/text.hpp"
#include "study/comparison.hpp"
#include "study/sentence.hpp"
#include "train/options.hpp"

namespace rueda {
namespace {

/// What describes a run, by name, as text that a terminal can show.
using Settings = std::vector<std::pair<std::string, std::string>>;

std::string option_text(const RunResult& run, const std::string& name) {
  const auto found = run.options.find(name);
  if (found == run.options.end() || found->second == "null") return "-";
  std::string text = found->second;
  std::erase(text, '"');
  return printable(text);
}

/// Names of files and other things that belong to a run alone tell nothing about it.
bool describes(const TrainOption& option) {
  return option.resume != Resume::own || option.name == std::string("init-weights");
}

/// What the options led to, then the options, then the machine.
Settings settings_of(const RunResult& run) {
  Settings settings = {{"ranks", std::to_string(run.world_size())},
                       {"hosts", std::to_string(run.hosts())},
                       {"images of a step", std::to_string(run.global_batch)},
                       {"images of a rank in it", rank_batch_text(run)},
                       {"training images", std::to_string(run.train_images)},
                       {"threads of rank 0", std::to_string(run.ranks.front().threads)},
                       {"sums by", run.all_reduce.empty() ? "-" : printable(run.all_reduce)}};
  for (const TrainOption& option : train_options())
    if (describes(option)) settings.emplace_back(option.name, option_text(run, option.name));
  for (const auto& [name, value] : machine_of(run))
    settings.emplace_back(printable(name), printable(value));
  return settings;
}

std::string value_in(const Settings& settings, const std::string& name) {
  const auto found = std::ranges::find(settings, name, &Settings::value_type::first);
  return found == settings.end() ? "-" : found->second;
}

Texts names_of(const RunPair& runs) {
  Texts names;
  for (const RunResult* run : runs)
    for (const auto& setting : settings_of(*run)) names.push_back(setting.first);
  return each_once(names);
}

Table settings_table(const RunPair& runs) {
  Table table{.id = "comparison_settings",
              .title = "Settings that differ",
              .columns = {{"setting", "setting", Show::text},
                          {"a", "A", Show::text},
                          {"b", "B", Show::text}},
              .notes = {which_is_which(runs)}};
  const Settings a = settings_of(*runs[0]), b = settings_of(*runs[1]);
  for (const std::string& name : names_of(runs)) {
    const std::string of_a = value_in(a, name), of_b = value_in(b, name);
    if (of_a != of_b) table.add({name, of_a, of_b});
  }
  return table;
}

const Score* last_test(const RunResult& run) {
  for (auto epoch = run.epochs.rbegin(); epoch != run.epochs.rend(); ++epoch)
    if (epoch->test) return &*epoch->test;
  return nullptr;
}

double best_accuracy(const RunResult& run) {
  double best = kUnknown;
  for (const EpochFigures& epoch : run.epochs)
    if (epoch.test) best = std::fmax(best, epoch.test->accuracy);
  return best;
}

Fields run_row(const char* letter, const RunResult& run) {
  const Estimate rate = steady_rate(run);
  const Score* test = last_test(run);
  return {{"run", "run", Show::text, letter},
          {"epochs", "epochs", Show::count, double(run.epochs.size())},
          {"epoch_seconds", "steady epoch, s", Show::seconds, observe(run).epoch.value},
          {"images_per_second", "images/s", Show::rate, rate.value},
          {"slowest", "slowest, images/s", Show::rate, rate.low},
          {"fastest", "fastest, images/s", Show::rate, rate.high},
          {"val_loss", "test loss", Show::ratio, test ? test->loss : kUnknown},
          {"val_accuracy", "test accuracy, %", Show::percent, test ? test->accuracy : kUnknown},
          {"best_val_accuracy", "best, %", Show::percent, best_accuracy(run)},
          {"memory_bytes", "memory of a rank", Show::bytes, run.memory_bytes}};
}

Table run_table(const RunPair& runs) {
  Table table{.id = "comparison_runs",
              .title = "What both runs took and reached",
              .notes = {"Images/s: of the steady epoch of median time, and of the slowest and the "
                        "fastest of them.",
                        "Test loss and accuracy: of the last epoch that was evaluated; *best*: "
                        "the highest accuracy of all."}};
  table.add_fields(run_row("A", *runs[0]));
  table.add_fields(run_row("B", *runs[1]));
  return table;
}

/// `step`: of A. The ratio of what hardly takes time says nothing.
void add_step_row(Table& table, const std::string& name, double a, double b, double step) {
  constexpr double kCounts = 0.01;
  if (a == 0 && b == 0) return;
  const double ratio = a >= kCounts * step ? b / a : kUnknown;
  table.add({name, a, b, b - a, ratio});
}

/// No rows where one of the runs has no full step.
Table step_table(const RunPair& runs) {
  Table table{
      .id = "comparison_steps",
      .title = "A mean full step",
      .columns = {{"phase", "phase", Show::text},
                  {"a_seconds", "A, ms", Show::millis},
                  {"b_seconds", "B, ms", Show::millis},
                  {"difference_seconds", "B - A, ms", Show::millis},
                  {"ratio", "B / A", Show::ratio}},
      .notes = {
          "Means over ranks and steady steps; the phases add up to the step. *B / A*: of what "
          "takes at least 1 % of A's step."}};
  const PhaseSeconds a = full_step_phases(*runs[0]), b = full_step_phases(*runs[1]);
  if (!(sum_of_phases(a) > 0 && sum_of_phases(b) > 0)) return table;
  for (std::size_t p = 0; p < kPhases; ++p)
    add_step_row(table, phase_words(p), a[p], b[p], sum_of_phases(a));
  add_step_row(table, "step", sum_of_phases(a), sum_of_phases(b), sum_of_phases(a));
  return table;
}

}  // namespace

std::string rank_batch_text(const RunResult& run) {
  const auto [least, most] = std::ranges::minmax(run.rank_batches);
  if (least == most) return std::to_string(least);
  return fmt::format("{} to {}", least, most);
}

std::string which_is_which(const RunPair& runs) {
  return fmt::format("A is {}, B is {}.", printable(runs[0]->file.parent_path().string()),
                     printable(runs[1]->file.parent_path().string()));
}

Estimate steady_rate(const RunResult& run) {
  const auto epochs = steady_epochs(run);
  const auto seconds = values_of(epochs, &EpochFigures::seconds);
  const auto [least, most] = std::ranges::minmax(seconds);
  return per(observe(run).images, {median_of(seconds), least, most});
}

PhaseSeconds full_step_phases(const RunResult& run) {
  return means_of(run.summary.full_step.phases);
}

double sum_of_phases(const PhaseSeconds& phases) {
  return std::accumulate(phases.begin(), phases.end(), 0.0);
}

Tables comparison_tables(const RunPair& runs) {
  return {settings_table(runs), run_table(runs), step_table(runs)};
}

}  // namespace rueda
