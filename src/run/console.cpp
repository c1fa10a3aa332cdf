#include "run/console.hpp"

#include <cmath>
#include <iostream>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "record/aggregation.hpp"
#include "record/run_figures.hpp"
#include "record/run_json.hpp"
#include "record/run_pace.hpp"

namespace rueda {

Console::Console(const RunRecord& run, bool speaks, const ReduceJournal& journal)
    : epochs_(run.config.training.epochs),
      steps_(run.steps_per_epoch),
      pace_(run.epochs.size(), steady_seconds()),
      journal_(journal) {
  const Terminal terminal = speaks ? Terminal::of_stdout() : Terminal();
  mode_ = progress_mode(run.config.output.progress, terminal);
  if (!speaks) return;
  bar_.emplace(std::cout, terminal, mode_);
  clears_bar_.emplace([this] { bar_->clear(); });
}

void Console::on_step(const TrainPosition& position, std::span<const RankTimes> ranks) {
  const auto& [loss, correct, images] = position.so_far;
  Progress p{.epoch = position.epochs + 1,
             .step = position.steps,
             .images = std::size_t(images),
             .loss = loss / images,
             .seconds = position.seconds,
             .epochs = epochs_,
             .steps = steps_};
  epoch_ = p.epoch;
  if (live_) live_->on_step(p, ranks);
  tell_gap();
  if (is_logged(LogLevel::trace)) {
    log(LogLevel::trace, fmt::format("epoch {}, step {}: {:.6f} s so far, loss {}", p.epoch, p.step,
                                     p.seconds, p.loss));
  }
  if (bar_) bar_->update(p);
}

void Console::on_evaluation(std::size_t done, std::size_t of, double seconds) {
  const double left = live_ ? live_->on_evaluation(done, of, seconds) : NAN;
  if (!bar_) return;
  bar_->update({.epoch = epoch_,
                .step = done,
                .seconds = seconds,
                .epochs = epochs_,
                .steps = of,
                .evaluates = true,
                .left = left});
}

void Console::on_epoch(RunRecord& run) {
  log(LogLevel::debug, fmt::format("epoch {} ended", run.epochs.size()));
  if (!bar_) return;
  if (mode_ != ProgressChoice::off) say(epoch_line(run.epochs.back(), epochs_, run.ranks.size()));
  live_->on_epoch(run);
  tell_gap();
  run.longest_gap = live_->longest_gap();
  const std::string slow = live_->slow_rank_of_epoch();
  if (!slow.empty() && mode_ != ProgressChoice::off) say("  slow: " + slow);
  tell_disturbance(run);
  const fs::path directory = run.config.output.run_dir;
  const std::size_t finished = run.epochs.size();
  const bool first = finished == 1 && run.resumptions.empty();
  append_steps_csv(directory / kStepsCsvName, run.epochs.back(), first);
  release_steps(run.epochs.back(), run);
  append_ranks_csv(directory / kRanksCsvName, run.epochs.back(), first);
  drop_rows(run.epochs);
  append_to_file(directory / kEpochsCsvName, epochs_csv(std::span(run.epochs).last(1), run, false));
  const double now = steady_seconds();
  if (!pace_.due(finished, now)) return;
  write_run_json(directory / kRunJsonName, run);
  pace_.wrote(finished, now, steady_seconds());
}

void Console::tell_gap() {
  if (!live_) return;
  if (const auto gap = live_->take_gap()) log(LogLevel::info, gap_text(*gap, live_->ranks()));
}

/// The first epoch that has one is told: more would say the same.
void Console::tell_disturbance(const RunRecord& run) {
  if (disturbed_) return;
  const std::string text = disturbance_text(run.epochs.back(), run.ranks);
  disturbed_ = !text.empty();
  if (disturbed_) log(LogLevel::info, text);
}

void Console::say(const std::string& text) {
  if (!bar_) return;
  bar_->clear();
  std::cout << harmless(text) << std::endl;
}

void Console::begin(const RunRecord& run) {
  say(start_block(run));
  if (bar_) live_.emplace(run, journal_);
}

void Console::end(const RunRecord& run) {
  write_files(run);
  std::string table = result_table(run);
  table.pop_back();  // a prompt follows, which needs its line of the screen
  say(table);
  if (run.outcome != "stopped") return;
  say("\nStopped as asked; nothing is lost. Go on with: rueda train --resume " +
      run.config.output.run_dir);
}

void Console::fail(RunRecord& run, const std::string& reason) {
  run.outcome = "failed";
  run.failure = reason;
  try {
    write_files(run);
  } catch (const std::exception& error) {
    log(LogLevel::info, error.what());
  }
}

void Console::write_files(const RunRecord& run) {
  say("");
  if (!bar_) return;
  if (live_) live_->end(run);
  write_run_files(run);
  if (!run.config.output.trace.empty()) write_trace(run.config.output.trace, run);
}

void write_run_files(const RunRecord& run) {
  const fs::path directory = run.config.output.run_dir;
  write_run_json(directory / kRunJsonName, run);
  write_output(directory / kEpochsCsvName, epochs_csv(run.epochs, run, true));
  if (!run.epochs.empty() || !run.resumptions.empty()) return;
  append_steps_csv(directory / kStepsCsvName, {}, true);
  append_ranks_csv(directory / kRanksCsvName, {}, true);
}

}  // namespace rueda
