#include "console.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "log.hpp"
#include "rueda/display/progress.hpp"
#include "rueda/display/run_text.hpp"
#include "rueda/record/run_json.hpp"

namespace rueda {
namespace {

std::atomic<long long> first_at{0};  // nanoseconds; 0: none has come
static_assert(std::atomic<long long>::is_always_lock_free, "a signal handler writes it");

constexpr long long kSecond = 1'000'000'000;

long long nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

extern "C" void note_signal(int signal) {
  const int before = errno;
  const long long now = nanoseconds();
  long long first = 0;
  if (!first_at.compare_exchange_strong(first, now) && now - first >= kSecond) {
    // Arrives after this handler, when the process does not listen any more.
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  errno = before;
}

}  // namespace

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

void Console::begin(const RunRecord& run, const std::vector<std::string>& warnings,
                    const std::vector<std::string>& notes) {
  say(start_block(run));
  for (const std::string& text : warnings) {
    if (!text.empty()) report(LogLevel::warn, text);
  }
  for (const std::string& text : notes) report(LogLevel::info, text);
}

void Console::end(const RunRecord& run) {
  write_files(run);
  say(result_table(run));
  if (run.outcome == "stopped") say(stop_text(run));
}

void Console::fail(RunRecord& run, const std::string& reason) {
  run.outcome = "failed";
  run.failure = reason;
  try {
    write_files(run);
  } catch (const std::exception& error) {
    report(LogLevel::info, error.what());
  }
}

void Console::write_files(const RunRecord& run) {
  say("");
  if (!speaks_) return;
  write_run_files(run);
  if (!run.config.trace.empty()) write_trace(run.config.trace, run);
}

void write_run_files(const RunRecord& run) {
  const std::filesystem::path directory = run.config.run_dir;
  write_run_json(directory / kRunJsonName, run);
  if (run.epochs.empty() && run.resumptions.empty())
    write_steps_csv(directory / kStepsCsvName, run);
}

void listen_for_stop_signals() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGTERM, SIGUSR1}) sigaction(signal, &action, nullptr);
}

bool stop_requested() { return first_at.load() != 0; }

}  // namespace rueda
