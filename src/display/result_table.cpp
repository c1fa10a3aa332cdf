#include <cmath>
#include <filesystem>
#include <span>
#include <utility>

#include <fmt/ranges.h>

#include "base/split.hpp"
#include "display/advice.hpp"
#include "display/model_summary.hpp"
#include "display/run_text.hpp"
#include "display/text.hpp"
#include "record/aggregation.hpp"
#include "record/definitions.hpp"
#include "record/run_json.hpp"
#include "record/run_pace.hpp"
#include "train/balance.hpp"
#include "train/checks/divergence.hpp"

namespace rueda {
namespace {

constexpr std::size_t kIndent = 17;

/// Nothing where there is no text.
std::string entry(const char* label, const std::string& text) {
  if (text.empty()) return "";
  return paragraph(std::string("  ") + label, kIndent, text);
}

std::string with_unit(double seconds) { return seconds_text(seconds) + " s"; }

std::string milliseconds(double seconds) { return fmt::format("{:.3f}", seconds * 1e3); }

Texts spread_cells(const std::string& name, const Spread& s, std::string (*text)(double)) {
  return {name, text(s.mean), text(s.min), text(s.max)};
}

/// The full steps of the steady epochs (true); the partial ones if there are no full ones.
std::pair<StepBreakdown, bool> shown_steps(const RunRecord& run) {
  const SteadyState steady = steady_state(run);
  const StepBreakdown full = break_down(steady.epochs, run.global_batch, StepKind::full);
  if (full.steps > 0) return {full, true};
  return {break_down(steady.epochs, run.global_batch, StepKind::partial), false};
}

std::string epochs_text(const SteadyState& steady) {
  const std::size_t first = steady.epochs.front().epoch;
  const std::size_t last = steady.epochs.back().epoch;
  if (steady.includes_warm_up) return fmt::format("epoch {}, includes warm-up", first);
  if (first == last) return fmt::format("epoch {}", first);
  return fmt::format("epochs {}-{}", first, last);
}

/// A phase of the step that takes `whole` seconds in the mean, or the step itself.
void add_part(TextTable& table, std::string_view name, const Spread& s, double whole) {
  Texts cells = spread_cells(std::string(name), s, milliseconds);
  cells.push_back(fmt::format("{:.1f} %", 100 * s.mean / whole));
  table.add(std::move(cells));
}

/// The time of a step by phases, in milliseconds.
std::string time_table(const RunRecord& run) {
  if (run.epochs.empty()) return "";
  const SteadyState steady = steady_state(run);
  const auto [b, full] = shown_steps(run);
  if (b.steps == 0) return "";  // an earlier process of an older version took them all
  TextTable table = number_table({"ms per step", "mean", "min", "max", "share"});
  for (std::size_t p = 0; p < kPhases; ++p)
    if (b.phases[p].max > 0)  // resident images are not copied
      add_part(table, kPhaseNames[p], b.phases[p], b.step.mean);
  add_part(table, "step", b.step, b.step.mean);
  std::string size = "partial step";
  if (full) size = fmt::format("full step of {} images", run.global_batch);
  const std::string heading =
      fmt::format("Time of a {} ({}, {})\n", size, epochs_text(steady), counted(b.steps, "step"));
  return heading + table.text();
}

/// How long the slowest rank took; the table's rows are means and extremes over ranks.
std::string slowest_rank(const RunRecord& run) {
  if (run.epochs.empty()) return "";
  const auto [b, full] = shown_steps(run);
  if (b.steps == 0) return "";
  std::string partial;
  if (full) {
    const StepBreakdown rest =
        break_down(steady_state(run).epochs, run.global_batch, StepKind::partial);
    if (rest.steps > 0)
      partial = fmt::format(" (partial step {})", rate_text(1e3 * rest.slowest.median));
  }
  return fmt::format("median {} ms{}, 90 % within {} ms", rate_text(1e3 * b.slowest.median),
                     partial, rate_text(1e3 * b.slowest.p90));
}

/// With a decimal, unless that is 0: transfer may be above 100 by the clocks' error.
std::string percent_figure(double share) {
  return fmt::format("{:.4g}", std::round(1000 * share) / 10);
}

/// The share of the ranks' time that was work, and its factors, in one line also where transfer has
/// five characters.
std::string efficiency_text(const RunRecord& run) {
  if (run.epochs.empty()) return "";
  const SteadyState steady = steady_state(run);
  const EfficiencySeconds& e = steady.efficiency;
  if (steady.ranks < 2 || !std::isfinite(e.parallel())) return "";
  return fmt::format("{} = load balance {} x serialisation {} x transfer {}",
                     percent_figure(e.parallel()), percent_figure(e.load_balance()),
                     percent_figure(e.serialisation()), percent_figure(e.transfer()));
}

/// Of the training steps.
std::string energy_text(const RunRecord& run) {
  const Energy energy = run_energy(run);
  const double joules = energy.total();
  if (!(joules > 0)) return "";
  return fmt::format("{} J = {:.4g} Wh of {}, {} J per image", rate_text(joules), joules / 3600,
                     energy.includes(), rate_text(joules / energy.images));
}

/// What the GPUs reported, over samples and ranks.
std::string device_table(const RunRecord& run) {
  TextTable table = number_table({"each second", "mean", "min", "max"});
  bool reported = false;
  for (const DeviceQuantity& quantity : kDeviceQuantities) {
    std::vector<double> values;
    for (const auto& samples : run.gpu_samples)
      for (const DeviceSample& sample : samples)
        if (const double value = sample.*quantity.value; !std::isnan(value))
          values.push_back(value / quantity.unit);
    if (values.empty()) continue;
    reported = true;
    table.add(spread_cells(quantity.label, spread_of(values), rate_text));
  }
  if (!reported) return "";
  return "GPUs\n" + table.text();
}

/// The work on batches during the same steps, hidden or not; the start block has the input mode.
std::string input_text(const RunRecord& run, const StepBreakdown& b) {
  if (run.epochs.empty() || run.config.data.input == InputMode::resident) return "";
  std::string text =
      fmt::format("per step preparing {} ms of all workers together", milliseconds(b.prepare.mean));
  if (b.copy_bytes.mean == 0) return text;
  text += fmt::format(", copying {} in {} ms", bytes_text(b.copy_bytes.mean),
                      milliseconds(b.copy.mean));
  if (b.copy.mean == 0) return text;
  return text + fmt::format(" ({:.3g} GB/s)", b.copy_bytes.mean / b.copy.mean / 1e9);
}

/// One sentence on the all-reduce of the same steps.
std::string communication_text(const RunRecord& run, const StepBreakdown& b) {
  const std::size_t ranks = steady_state(run).ranks;
  if (b.steps == 0 || ranks < 2) return "";
  const auto bytes = double(run.gradient_bytes);
  std::string text =
      fmt::format("{} per step; busy {} ms: waiting {}, transfer {}, adding {}", bytes_text(bytes),
                  milliseconds(b.busy.mean), milliseconds(b.wait.mean),
                  milliseconds(b.transfer.mean), milliseconds(b.add.mean));
  if (const auto rate = bandwidth(bytes, b.slowest_busy, ranks))
    text += fmt::format("; algbw {:.3g} GB/s, busbw {:.3g} GB/s", rate->algbw, rate->busbw);
  return text;
}

std::string steady(const RunRecord& run) {
  if (run.epochs.empty()) return "";
  const SteadyState s = steady_state(run);
  std::string text = fmt::format("{} s, {} images/s", seconds_text(s.epoch_seconds),
                                 rate_text(s.images_per_second));
  if (s.ranks > 1)
    text += fmt::format(" ({} per rank)", rate_text(s.images_per_second / double(s.ranks)));
  if (s.includes_warm_up) text += ", includes warm-up";
  return text;
}

std::string target(const RunRecord& run) {
  if (!run.config.training.target_accuracy) return "";
  const char* figure = run.config.training.eval_every > 0 ? "val_accuracy" : "accuracy";
  const std::string wanted =
      fmt::format("{} {}", figure, setting_text(*run.config.training.target_accuracy));
  if (!run.seconds_to_target) return wanted + " not reached";
  return wanted + " after " + with_unit(*run.seconds_to_target);
}

/// What the checkpoints cost.
std::string checkpoint_cost(const RunRecord& run) {
  if (run.checkpoints.empty()) return "";
  double pause = 0, writing = 0;
  std::size_t unknown = 0;
  for (const CheckpointRecord& c : run.checkpoints) {
    if (std::isnan(c.write_seconds)) {
      ++unknown;
      continue;
    }
    pause += c.pause_seconds;
    writing += c.write_seconds;
  }
  const std::string known =
      fmt::format("{} written; training paused for {} s, and went on during {} s of writing",
                  run.checkpoints.size(), seconds_text(pause), seconds_text(writing));
  if (unknown == 0) return known;
  return fmt::format("{} ({} of them not counted)", known, unknown);
}

/// Advice is for this process: the hosts of steps that earlier ones took may be others.
std::string own_advice(const RunRecord& run, const StepBreakdown& b) {
  const SteadyState steady = steady_state(run);
  std::size_t before = 0;  // epochs of earlier processes
  if (!run.resumptions.empty()) before = run.resumptions.back().epochs;
  if (steady.epochs.empty() || steady.epochs.front().epoch <= before) return "";
  return all_reduce_advice(run, b);
}

std::string outcome(const RunRecord& run) {
  if (run.failure.empty() && ended_diverged(std::span(run.epochs), run.classes))
    return run.outcome + ", but training diverged: lower --lr";
  if (run.failure.empty()) return run.outcome;
  return run.outcome + ": " + run.failure;
}

/// Of all processes; "not known" after a checkpoint of an older version.
std::string whole_time(const RunRecord& run) {
  if (std::isnan(run.total_seconds)) return "not known: an older version began the run";
  const std::string text = with_unit(run.total_seconds);
  if (run.resumptions.empty()) return text;
  return fmt::format("{} in {} processes", text, run.resumptions.size() + 1);
}

/// The whole time and its parts that are known; bookkeeping is not where an older version trained.
std::string times(const RunRecord& run) {
  Texts parts = {"start-up " + with_unit(startup_seconds(run.ranks))};
  if (!run.resumptions.empty()) parts.back() += " of the last process";
  parts.push_back(fmt::format("training {} in {}", with_unit(training_seconds(run)),
                              counted(run.epochs.size(), "epoch")));
  if (!run.epochs.empty()) parts.push_back("evaluation " + with_unit(evaluation_seconds(run)));
  const double bookkeeping = bookkeeping_seconds(run);
  if (!run.epochs.empty() && !std::isnan(bookkeeping))
    parts.push_back(fmt::format("between steps {}", with_unit(bookkeeping)));
  return fmt::format("{}: {}", whole_time(run), fmt::join(parts, ", "));
}

std::string longest_gap(const RunRecord& run) {
  if (!run.longest_gap) return "";
  return gap_text(*run.longest_gap, run.ranks);
}

/// With --balance: of equal parts, and of each epoch in which they changed.
std::string images_per_rank(const RunRecord& run) {
  if (run.config.batch.balance.equal() || run.ranks.size() < 2) return "";
  std::vector<std::size_t> shown;
  for (std::size_t rank = 0; rank < run.ranks.size(); ++rank)
    shown.push_back(even_split(run.global_batch, run.ranks.size(), rank).size());
  std::string text = images_text(shown) + " in equal parts";
  for (const EpochRecord& epoch : run.epochs) {
    // Those of many ranks are not known of epochs of earlier processes.
    if (epoch.rank_batches == shown || epoch.rank_batches.empty()) continue;
    shown = epoch.rank_batches;
    text += fmt::format("; {} from epoch {} on", images_text(shown), epoch.epoch);
  }
  return text;
}

/// With where the words are explained, on one line of a small screen.
std::string hash_and_terms(const RunRecord& run) {
  if (run.epochs.empty()) return "";
  return run.epochs.back().parameter_hash + "; terms: rueda train --help result";
}

/// Whole paths, to be copied.
std::string files(const RunRecord& run) {
  const std::string folder = one_line(run.config.output.run_dir) + "/";
  std::string text = folder + kRunJsonName + ", " + folder + "*.csv";
  if (!run.checkpoints.empty()) text += ", " + one_line(run.checkpoints.back().path) + "/";
  if (!run.kept_weights.empty()) text += ", " + one_line(run.kept_weights);
  return text;
}

std::string totals(const RunRecord& run) {
  const StepBreakdown b = shown_steps(run).first;
  return entry("slowest rank", slowest_rank(run)) +
         entry("outcome", outcome(run) + "; " + times(run)) + entry("steady epoch", steady(run)) +
         entry("efficiency, %", efficiency_text(run)) + entry("target", target(run)) +
         entry("noise scale", noise_text(run)) + entry("energy", energy_text(run)) +
         entry("checkpoints", checkpoint_cost(run)) + entry("longest gap", longest_gap(run)) +
         entry("images/rank", images_per_rank(run)) + entry("audit", audit_text(run)) +
         entry("input", input_text(run, b)) + entry("all-reduce", communication_text(run, b)) +
         entry("advice", own_advice(run, b)) + entry("parameter hash", hash_and_terms(run)) +
         entry("files", files(run));
}

}  // namespace

std::string result_terms() {
  const auto term = [](const char* name, const char* text) {
    return paragraph(std::string("  ") + name, kIndent, text);
  };
  return paragraph(
             "", 0,
             "What the words at the end of a run mean. run.json has all of it, and each epoch, "
             "the start-up by item and each rank; definitions: docs/metrics.md.") +
         "\n" + term("mean, min, max", "over ranks") +
         term("all_reduce", "what a step waited for the sum of the gradients (exposed)") +
         term("training", "steps only, slowest rank, without evaluation and start-up") +
         term("between steps", "bookkeeping, of which comparing clocks is a part") +
         term("slowest rank",
              "a step takes as long as on its slowest rank; partial: of fewer images") +
         term("steady epoch", "median of the epochs after the first") +
         term("efficiency",
              "useful time of all ranks, and its factors in percent. Load balance low: some ranks "
              "always have more to do; serialisation low: ranks take turns in being late; transfer "
              "low: steps wait for messages") +
         term("noise scale",
              "images (90 % interval); by it, how many steps of fewer images one step is worth") +
         term("all-reduce",
              "busy: the time inside it, hidden or not; GB = 10^9 bytes; algbw = bytes / slowest "
              "rank's busy time; busbw = algbw x 2(P-1)/P") +
         term("parameter hash", "equal on all ranks; equal runs have equal ones");
}

/// Blocks with a blank line between them; empty ones leave no gap.
std::string result_table(const RunRecord& run) {
  std::string warning, none;
  if (run.timed) warning = paragraph("", 0, timed_text(run));
  if (run.epochs.empty()) none = "No epoch finished.\n";
  Texts blocks = {warning, layer_table(run.profile), device_table(run),
                  none + time_table(run) + totals(run)};
  std::erase(blocks, "");
  return fmt::format("{}", fmt::join(blocks, "\n"));
}

}  // namespace rueda
