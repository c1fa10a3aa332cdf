#include "run/console.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <iostream>
#include <memory>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/start_thread.hpp"
#include "base/text.hpp"
#include "mpi/session/communicator.hpp"
#include "mpi/session/session.hpp"
#include "record/aggregation.hpp"
#include "record/run_json.hpp"
#include "record/run_pace.hpp"
#include "rueda/reduce/rank_group.hpp"

namespace rueda {
namespace {

using spdlog::level::level_enum;

/// `off` leaves what ends the run, which is logged as critical.
level_enum level_of(LogLevel level) {
  static_assert(int(LogLevel::off) == int(level_enum::critical));
  return static_cast<level_enum>(level);
}

/// By level.
constexpr const char* kPrefixes[] = {
    "trace: ", "debug: ", "note: ", "warning: ", "error: ", "rueda: "};

/// Without time and rank. Errors go to standard error, the rest to standard
/// output, where the tables are.
class TerminalSink final : public spdlog::sinks::base_sink<std::mutex> {
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string text(message.payload.data(), message.payload.size());
    auto& stream = message.level >= level_enum::err ? std::cerr : std::cout;
    stream << kPrefixes[message.level] + text + '\n' << std::flush;
  }
  void flush_() override {}
};

/// Of this process; until open_log it prints errors alone.
spdlog::logger& logger() {
  static spdlog::logger the_logger = [] {
    const auto terminal = std::make_shared<TerminalSink>();
    terminal->set_level(level_enum::critical);
    return spdlog::logger("rueda", terminal);
  }();
  return the_logger;
}

/// Appends to a regular file. Says once where lines are lost.
class FileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FileSink(const fs::path& path) : path_(path), file_(open_to_append(path)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (::write(file_.fd(), line.data(), line.size()) == ssize_t(line.size()) || told_) return;
    told_ = true;
    const std::string lost =
        fmt::format("warning: the log {} lacks lines: {}\n", path_.string(), std::strerror(errno));
    std::cerr << harmless(lost) << std::flush;
  }
  void flush_() override {}

  fs::path path_;
  OpenFile file_;
  bool told_ = false;
};

spdlog::sink_ptr open_file(const fs::path& directory, int rank) {
  const std::string name = "rank-" + std::to_string(rank);
  try {
    std::error_code error;
    fs::create_directories(directory, error);
    if (error) throw InputError(error.message());
    const auto file = std::make_shared<FileSink>(directory / (name + ".log"));
    file->set_pattern("%Y-%m-%d %H:%M:%S.%e " + name + " %l: %v");
    return file;
  } catch (const std::exception& error) {  // RunError, InputError, spdlog's
    throw InputError("--log-dir " + directory.string() + ": " + error.what() +
                     "; give a directory that you may write into, or leave it out");
  }
}

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

void open_log(LogLevel level, const std::string& directory, int rank) {
  auto& sinks = logger().sinks();
  sinks.resize(1);
  if (rank == 0) sinks.front()->set_level(level_of(level));
  if (!directory.empty()) sinks.push_back(open_file(directory, rank));
  logger().set_level(rank == 0 || !directory.empty() ? level_of(level) : level_enum::critical);
  logger().flush_on(level_enum::trace);  // whatever ends the process, its file has the last line
}

bool is_logged(LogLevel level) { return logger().should_log(level_of(level)); }

void log(LogLevel level, const std::string& text) {
  logger().log(level_of(level), std::string_view(one_line(text)));
}

void print_error(const std::string& message) { log(LogLevel::off, message); }

void report_errors_of_ranks(Session& session, const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    const auto* known = dynamic_cast<const Error*>(&error);
    if (known != nullptr && is_agreed(error)) {
      // Before any rank finalizes MPI: a launcher ends the whole job when the first rank has left.
      log(speaks_for_all() ? LogLevel::off : LogLevel::error, error.what());
      throw AlreadyReported{known->code()};
    }
    print_error(error.what());
    session.abort(known == nullptr ? ExitCode::run_failed : known->code());
  }
}

int in_session(BackendChoice backend, const std::function<void()>& prepare,
               const std::function<void(const SelectedDevice&)>& perform) {
  SelectedDevice device;
  try {
    if (speaks_for_all()) prepare();
    device = select_device(backend);  // before MPI looks for one
  } catch (...) {
    device.failure = std::current_exception();
  }
  Session session(ThreadLevel::funneled);
  check_launch(environment_variable, Communicator().size());
  report_errors_of_ranks(session, [&] { perform(device); });
  return int(ExitCode::done);
}

Console::Console(const RunRecord& run, bool speaks, const ReduceJournal& journal)
    : epochs_(run.config.epochs), steps_(run.steps_per_epoch), journal_(journal) {
  const Terminal terminal = speaks ? Terminal::behind_stdout() : Terminal();
  mode_ = progress_mode(run.config.progress, terminal);
  if (speaks) bar_.emplace(std::cout, terminal, mode_);
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
    report(LogLevel::trace, fmt::format("epoch {}, step {}: {:.6f} s so far, loss {}", p.epoch,
                                        p.step, p.seconds, p.loss));
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
  report(LogLevel::debug, fmt::format("epoch {} ended", run.epochs.size()));
  if (!bar_) return;
  if (mode_ != ProgressChoice::off) say(epoch_line(run.epochs.back(), epochs_, run.ranks.size()));
  live_->on_epoch(run);
  tell_gap();
  run.longest_gap = live_->longest_gap();
  const std::string slow = live_->slow_rank_of_epoch();
  if (!slow.empty() && mode_ != ProgressChoice::off) say("  slow: " + slow);
  tell_disturbance(run);
  const fs::path directory = run.config.run_dir;
  const std::size_t finished = run.epochs.size();
  append_steps_csv(directory / kStepsCsvName, run.epochs.back(),
                   finished == 1 && run.resumptions.empty());
  append_to_file(directory / kEpochsCsvName, epochs_csv(std::span(run.epochs).last(1), run, false));
  // The last one's buckets stand for all in the summary.
  if (finished > 1) release_steps(run.epochs[finished - 2], run);
  write_run_json(directory / kRunJsonName, run);
}

void Console::tell_gap() {
  if (!live_) return;
  if (const auto gap = live_->take_gap()) report(LogLevel::info, gap_text(*gap, live_->ranks()));
}

/// Of the first epoch that has one: more would say the same.
void Console::tell_disturbance(const RunRecord& run) {
  if (disturbed_) return;
  const std::string text = disturbance_text(run.epochs.back(), run.ranks);
  disturbed_ = !text.empty();
  if (disturbed_) report(LogLevel::info, text);
}

void Console::report(LogLevel level, const std::string& text) {
  if (bar_ && is_logged(level)) bar_->clear();
  log(level, text);
}

void Console::say(const std::string& text) {
  if (!bar_) return;
  bar_->clear();
  std::cout << harmless(text) << std::endl;
}

void Console::begin(const RunRecord& run, const std::vector<std::string>& warnings,
                    const std::vector<std::string>& notes) {
  say(start_block(run));
  if (bar_) live_.emplace(run, journal_);
  for (const std::string& text : warnings)
    if (!text.empty()) report(LogLevel::warn, text);
  for (const std::string& text : notes) report(LogLevel::info, text);
}

void Console::end(const RunRecord& run) {
  write_files(run);
  say(result_table(run));
  if (run.outcome != "stopped") return;
  say("\nStopped as asked; nothing is lost. Go on with: rueda train --resume " +
      run.config.run_dir);
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
  if (!bar_) return;
  const std::string trouble = live_ ? live_->end(run) : "";
  if (!trouble.empty()) report(LogLevel::warn, trouble);
  write_run_files(run);
  if (!run.config.trace.empty()) write_output(run.config.trace, to_trace_json(run));
}

void write_run_files(const RunRecord& run) {
  const fs::path directory = run.config.run_dir;
  write_run_json(directory / kRunJsonName, run);
  write_output(directory / kEpochsCsvName, epochs_csv(run.epochs, run, true));
  if (run.epochs.empty() && run.resumptions.empty())
    append_steps_csv(directory / kStepsCsvName, {}, true);
}

/// Some of oneDNN's matrix products keep a buffer from the heap at the stack pointer, so that the
/// frame of a handler would overwrite what lies before it. So this thread, which computes, and
/// those that it starts block the signals. A thread that only sleeps takes them.
void listen_for_stop_signals() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigset_t signals = action.sa_mask;
  for (const int signal : {SIGTERM, SIGUSR1}) {
    sigaction(signal, &action, nullptr);
    sigaddset(&signals, signal);
  }
  start_thread("signals", [] {
    return std::thread([] {
      while (true) pause();
    });
  }).detach();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

bool stop_requested() { return first_at.load() != 0; }

}  // namespace rueda
