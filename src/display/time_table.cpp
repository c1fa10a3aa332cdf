#include "time_table.hpp"

#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "rueda/display/number_text.hpp"
#include "rueda/display/text_table.hpp"
#include "rueda/record/aggregation.hpp"
#include "rueda/record/statistics.hpp"
#include "run_lines.hpp"

namespace rueda {
namespace {

struct ShownSteps {
  StepBreakdown breakdown;
  bool full = true;
};

ShownSteps shown_steps(const RunRecord& run) {
  const SteadyState steady = steady_state(run);
  const StepBreakdown full = break_down(steady.epochs, run.global_batch, StepKind::full);
  if (full.steps > 0) return {full, true};
  return {break_down(steady.epochs, run.global_batch, StepKind::partial), false};
}

std::string milliseconds(double seconds) { return fmt::format("{:.3f}", seconds * 1e3); }

void add_spread(TextTable& table, const std::string& name, const Spread& s, double whole) {
  table.add({name, milliseconds(s.mean), milliseconds(s.min), milliseconds(s.max),
             fmt::format("{:.1f} %", 100 * s.mean / whole)});
}

std::string epochs_text(const SteadyState& steady) {
  const std::size_t first = steady.epochs.front().epoch;
  const std::size_t last = steady.epochs.back().epoch;
  if (steady.includes_warm_up) return fmt::format("epoch {}, includes warm-up", first);
  return first == last ? fmt::format("epoch {}", first) : fmt::format("epochs {}-{}", first, last);
}

std::string heading(const RunRecord& run, const ShownSteps& shown) {
  const std::string size = shown.full ? fmt::format("full step of {} images", run.global_batch)
                                      : std::string("partial step");
  return fmt::format("Time of a {} ({}, {})\n", size, epochs_text(steady_state(run)),
                     counted(shown.breakdown.steps, "step"));
}

/// How long the slowest rank took; the table's rows are means and extremes over ranks.
std::string slowest_line(const char* what, const StepBreakdown& b) {
  return fmt::format("  {} on the slowest rank: median {} ms, 90 % within {} ms\n", what,
                     milliseconds(b.slowest.median), milliseconds(b.slowest.p90));
}

std::vector<double> values_of(const RunRecord& run, const DeviceQuantity& quantity) {
  std::vector<double> values;
  for (const auto& samples : run.gpu_samples) {
    for (const DeviceSample& sample : samples) {
      const double value = sample.*quantity.value;
      if (!std::isnan(value)) values.push_back(value / quantity.unit);
    }
  }
  return values;
}

bool are_shared(const std::vector<RankInfo>& ranks) {
  std::map<std::pair<std::string, std::string>, int> users;
  for (const RankInfo& rank : ranks) {
    if (!rank.uuid.empty() && ++users[{rank.host, rank.uuid}] > 1) return true;
  }
  return false;
}

std::string energy_line(const RunRecord& run) {
  double joules = 0;
  double images = 0;
  for (const EpochRecord& epoch : run.epochs) {
    const auto of_epoch = epoch_joules(epoch, run);
    if (!of_epoch) return "";
    joules += *of_epoch;
    images += static_cast<double>(epoch.train.samples);
  }
  if (joules <= 0) return "";
  return fmt::format("  energy of the training steps: {} J, {} images/J{}\n", rate_text(joules),
                     rate_text(images / joules),
                     are_shared(run.ranks) ? " (shared GPUs counted once)" : "");
}

}  // namespace

std::string time_table(const RunRecord& run) {
  if (run.epochs.empty()) return "";
  const ShownSteps shown = shown_steps(run);
  const StepBreakdown& b = shown.breakdown;
  TextTable table({Align::left, Align::right, Align::right, Align::right, Align::right}, 2);
  table.add({"ms per step", "mean", "min", "max", "share"});
  for (std::size_t p = 0; p < kPhases; ++p) {
    add_spread(table, std::string(kPhaseNames[p]), b.phases[p], b.step.mean);
  }
  add_spread(table, "step", b.step, b.step.mean);
  std::string text = heading(run, shown) + table.text() + slowest_line("step", b);
  if (!shown.full) return text;
  const StepBreakdown rest =
      break_down(steady_state(run).epochs, run.global_batch, StepKind::partial);
  return rest.steps == 0 ? text : text + slowest_line("partial step", rest);
}

std::string startup_table(const RunRecord& run) {
  const auto items = startup_items(run.ranks);
  if (items.empty()) return "";
  TextTable table({Align::left, Align::right, Align::right, Align::right}, 2);
  table.add({"seconds", "mean", "min", "max"});
  for (const auto& [name, s] : items) {
    table.add({name, seconds_text(s.mean), seconds_text(s.min), seconds_text(s.max)});
  }
  return "Start-up\n" + table.text();
}

std::string input_text(const RunRecord& run) {
  const std::string mode = input_mode_text(run.config);
  if (run.epochs.empty() || run.config.input == InputMode::resident) return mode;
  const StepBreakdown b = shown_steps(run).breakdown;
  std::string text = mode + fmt::format("; per step preparing {} ms of all workers together",
                                        milliseconds(b.prepare.mean));
  if (b.copy_bytes.mean == 0) return text;
  text += fmt::format(", copying {} in {} ms", bytes_text(b.copy_bytes.mean),
                      milliseconds(b.copy.mean));
  return b.copy.mean == 0
             ? text
             : text + fmt::format(" ({:.3g} GB/s)", b.copy_bytes.mean / b.copy.mean / 1e9);
}

std::string communication_text(const RunRecord& run) {
  if (run.epochs.empty() || run.ranks.size() < 2) return "";
  const StepBreakdown b = shown_steps(run).breakdown;
  const auto bytes = static_cast<double>(run.gradient_bytes);
  const auto exposed = b.phases[static_cast<std::size_t>(Phase::all_reduce)];
  std::string text = fmt::format(
      "{} per step; busy {} ms: waiting {}, transfer {}, adding {}; exposed {} ms",
      bytes_text(bytes), milliseconds(b.busy.mean), milliseconds(b.wait.mean),
      milliseconds(b.transfer.mean), milliseconds(b.add.mean), milliseconds(exposed.mean));
  if (const auto rate = bandwidth(bytes, b.slowest_busy, run.ranks.size())) {
    text += fmt::format("; algbw {:.3g} GB/s, busbw {:.3g} GB/s", rate->algbw, rate->busbw);
  }
  return text;
}

std::string device_table(const RunRecord& run) {
  TextTable table({Align::left, Align::right, Align::right, Align::right}, 2);
  table.add({"each second", "mean", "min", "max"});
  bool reported = false;
  for (const DeviceQuantity& quantity : kDeviceQuantities) {
    const Spread s = spread_of(values_of(run, quantity));
    if (s.count == 0) continue;
    reported = true;
    table.add({quantity.label, rate_text(s.mean), rate_text(s.min), rate_text(s.max)});
  }
  const std::string energy = energy_line(run);
  if (!reported && energy.empty()) return "";
  return "GPUs\n" + (reported ? table.text() : "") + energy;
}

std::string all_reduce_advice(const RunRecord& run) {
  constexpr double kExposedTooLong = 0.1;
  if (run.epochs.empty() || run.ranks.size() < 2 || run.auto_all_reduce.empty()) return "";
  const StepBreakdown b = shown_steps(run).breakdown;
  const double share = b.phases[static_cast<std::size_t>(Phase::all_reduce)].mean / b.step.mean;
  if (share <= kExposedTooLong) return "";
  return fmt::format(
      "The exposed all-reduce takes {:.0f} % of a step: --all-reduce auto takes {} here, which may "
      "be faster and changes the last bits",
      100 * share, run.auto_all_reduce);
}

}  // namespace rueda
