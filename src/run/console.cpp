#include "console.hpp"

#include <iostream>

#include <fmt/format.h>

#include "log.hpp"
#include "rueda/display/progress.hpp"
#include "rueda/record/run_json.hpp"

namespace rueda {

Console::Console(const RunRecord& run, bool speaks)
    : speaks_(speaks), epochs_(run.config.epochs), steps_(run.steps_per_epoch) {
  const Terminal terminal = speaks ? Terminal::behind_stdout() : Terminal();
  mode_ = progress_mode(run.config.progress, terminal);
  if (speaks_) bar_.emplace(std::cout, terminal, mode_);
}

void Console::on_step(const StepProgress& p) {
  if (is_logged(LogLevel::trace)) {
    report(LogLevel::trace, fmt::format("epoch {}, step {}: {:.6f} s so far, loss {}", p.epoch,
                                        p.step, p.seconds, p.loss));
  }
  if (bar_) bar_->update({p, epochs_, steps_});
}

void Console::on_epoch(RunRecord& run) {
  report(LogLevel::debug, fmt::format("epoch {} ended", run.epochs.size()));
  if (!speaks_) return;
  if (mode_ != ProgressChoice::off) say(epoch_line(run.epochs.back(), epochs_, run.ranks.size()));
  const std::filesystem::path directory = run.config.run_dir;
  const std::size_t finished = run.epochs.size();
  append_steps_csv(directory / kStepsCsvName, run.epochs.back(),
                   finished == 1 && run.resumptions.empty());
  // The last one's buckets stand for all in the summary.
  if (finished > 1) release_steps(run.epochs[finished - 2], run);
  write_run_json(directory / kRunJsonName, run);
}

void Console::report(LogLevel level, const std::string& text) {
  if (bar_ && is_logged(level)) bar_->clear();
  log(level, text);
}

void Console::say(const std::string& text) {
  if (!speaks_) return;
  bar_->clear();
  std::cout << text << std::endl;
}

void write_run_files(const RunRecord& run) {
  const std::filesystem::path directory = run.config.run_dir;
  write_run_json(directory / kRunJsonName, run);
  if (run.epochs.empty() && run.resumptions.empty())
    write_steps_csv(directory / kStepsCsvName, run);
}

}  // namespace rueda
