#include "rueda/display/result_table.hpp"

#include <spdlog/fmt/fmt.h>

#include "rueda/display/number_text.hpp"
#include "rueda/display/text_table.hpp"
#include "rueda/record/aggregation.hpp"
#include "rueda/record/run_json.hpp"
#include "run_lines.hpp"
#include "time_table.hpp"

namespace rueda {
namespace {

constexpr std::size_t kIndent = 17;

std::string entry(const char* label, const std::string& text) {
  return paragraph(std::string("  ") + label, kIndent, text);
}

std::string epoch_table(const RunRecord& run) {
  if (run.epochs.empty()) return "No epoch finished.\n";
  TextTable table(std::vector<Align>(7, Align::right), 2);
  table.add({"epoch", "loss", "accuracy", "val_loss", "val_accuracy", "seconds", "images/s"});
  for (const EpochRecord& e : run.epochs) {
    table.add({std::to_string(e.epoch), run.timed ? "-" : metric_text(e.train.loss),
               run.timed ? "-" : metric_text(e.train.accuracy),
               e.test ? metric_text(e.test->loss) : "-",
               e.test ? metric_text(e.test->accuracy) : "-", seconds_text(e.seconds),
               rate_text(e.images_per_second)});
  }
  return "Epochs\n" + table.text();
}

std::string outcome(const RunRecord& run) {
  return run.failure.empty() ? run.outcome : run.outcome + ": " + run.failure;
}

std::string training(const RunRecord& run) {
  double seconds = 0;
  for (const EpochRecord& e : run.epochs) seconds += e.seconds;
  return fmt::format("{} s in {}", seconds_text(seconds), counted(run.epochs.size(), "epoch"));
}

std::string steady(const RunRecord& run) {
  const SteadyState s = steady_state(run);
  const auto ranks = static_cast<double>(run.ranks.size());
  std::string text = fmt::format("{} s, {} images/s", seconds_text(s.epoch_seconds),
                                 rate_text(s.images_per_second));
  if (run.ranks.size() > 1) {
    text += fmt::format(" ({} per rank)", rate_text(s.images_per_second / ranks));
  }
  return text + (s.includes_warm_up ? ", includes warm-up" : "");
}

double evaluation_seconds(const RunRecord& run) {
  double seconds = 0;
  for (const EpochRecord& e : run.epochs) seconds += e.test ? e.test->seconds : 0;
  return seconds;
}

std::string target(const RunRecord& run) {
  if (!run.config.target_accuracy) return "";
  const std::string wanted =
      fmt::format("{} {}", run.config.eval_every > 0 ? "val_accuracy" : "accuracy",
                  setting_text(*run.config.target_accuracy));
  return entry("target", run.seconds_to_target
                             ? wanted + " after " + seconds_text(*run.seconds_to_target) + " s"
                             : wanted + " not reached");
}

/// Of whatever the checkpoints cost.
std::string checkpoint_cost(const RunRecord& run) {
  if (run.checkpoints.empty()) return "";
  double pause = 0;
  double writing = 0;
  for (const CheckpointRecord& c : run.checkpoints) {
    pause += c.pause_seconds;
    writing += c.write_seconds;
  }
  return entry(
      "checkpoints",
      fmt::format("{} written; training paused for {} s, and went on during {} s of writing",
                  run.checkpoints.size(), seconds_text(pause), seconds_text(writing)));
}

std::string totals(const RunRecord& run) {
  std::string text = "Totals\n" + entry("outcome", outcome(run)) +
                     entry("start-up", seconds_text(startup_seconds(run.ranks)) + " s") +
                     entry("training", training(run));
  if (!run.epochs.empty()) {
    text += entry("steady epoch", steady(run)) +
            entry("evaluation", seconds_text(evaluation_seconds(run)) + " s");
  }
  text += entry("all together", seconds_text(run.total_seconds) + " s") + target(run);
  text += checkpoint_cost(run) + entry("input", input_text(run));
  const std::string communication = communication_text(run);
  if (!communication.empty()) text += entry("all-reduce", communication);
  const std::string advice = all_reduce_advice(run);
  if (!advice.empty()) text += entry("advice", advice);
  if (!run.epochs.empty()) text += entry("parameter hash", run.epochs.back().parameter_hash);
  return text;
}

std::string files(const RunRecord& run) {
  const std::string& where = run.config.run_dir;
  std::string text =
      "Files\n  " + where + "/" + kRunJsonName + "\n  " + where + "/" + kStepsCsvName + "\n";
  if (!run.checkpoints.empty()) text += "  " + run.checkpoints.back().path + "/\n";
  if (!run.config.save_weights.empty()) text += "  " + run.config.save_weights + "\n";
  return text;
}

std::string definitions() {
  return paragraph("", 0,
                   "Epoch seconds: training steps only, slowest rank, without evaluation and "
                   "start-up. Steady: median of the epochs after the first. Mean, min, max: over "
                   "ranks. all_reduce: what a step waited for it (exposed); busy: inside it, "
                   "hidden or not. GB = 10^9 bytes; algbw = bytes / slowest rank's busy time; "
                   "busbw = algbw x 2(P-1)/P. More: docs/metrics.md.");
}

/// Blocks with a blank line between them; empty ones leave no gap.
std::string separated(std::initializer_list<std::string> blocks) {
  std::string text;
  for (const std::string& block : blocks) {
    if (!block.empty()) text += (text.empty() ? "" : "\n") + block;
  }
  return text;
}

}  // namespace

std::string stop_text(const RunRecord& run) {
  return "\nStopped as asked; nothing is lost. Go on with: rueda train --resume " +
         run.config.run_dir;
}

std::string result_table(const RunRecord& run) {
  const std::string timed = run.timed ? paragraph("", 0, timed_text(run)) : "";
  return separated({timed, epoch_table(run), time_table(run), startup_table(run), device_table(run),
                    totals(run), files(run), definitions()});
}

}  // namespace rueda
