#include "base/log.hpp"

#include <cerrno>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

namespace rueda {
namespace {

using spdlog::level::level_enum;

/// Above all others: what ends the run is shown whatever is logged besides.
constexpr level_enum kEnd = level_enum::critical;

level_enum level_of(LogLevel level) {
  static_assert(int(LogLevel::off) == int(kEnd));
  return static_cast<level_enum>(level);
}

/// By level.
constexpr const char* kPrefixes[] = {
    "trace: ", "debug: ", "note: ", "warning: ", "error: ", "rueda: "};

/// Standard error, without time and rank: tables go to standard output.
class TerminalSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  void clear_before(std::function<void()> clear) {
    const std::lock_guard lock(mutex_);
    clear_ = std::move(clear);
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (clear_) clear_();
    const std::string text(message.payload.data(), message.payload.size());
    std::cerr << kPrefixes[message.level] + harmless(text) + '\n' << std::flush;
  }
  void flush_() override {}

  std::function<void()> clear_;
};

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

/// Of this process.
struct ProcessLog {
  ProcessLog() { terminal->set_level(kEnd); }

  std::shared_ptr<TerminalSink> terminal = std::make_shared<TerminalSink>();
  spdlog::logger logger{"rueda", terminal};
  int rank = 0;
  LogLevel level = LogLevel::off;
  std::mutex mutex;
  std::set<std::string> said;  ///< by log_once
};

ProcessLog& process_log() {
  static ProcessLog the_log;
  return the_log;
}

spdlog::logger& logger() { return process_log().logger; }

}  // namespace

void open_log(LogLevel level, const std::string& directory, int rank) {
  ProcessLog& mine = process_log();
  mine.rank = rank;
  auto& sinks = logger().sinks();
  sinks.resize(1);
  if (!directory.empty()) sinks.push_back(open_file(directory, rank));
  set_log_level(level);
  logger().flush_on(level_enum::trace);  // whatever ends the process, its file has the last line
}

void set_log_level(LogLevel level) {
  ProcessLog& mine = process_log();
  mine.level = level;
  auto& sinks = logger().sinks();
  sinks.front()->set_level(mine.rank == 0 ? level_of(level) : kEnd);
  const bool listens = mine.rank == 0 || sinks.size() > 1;
  logger().set_level(listens ? level_of(level) : kEnd);
}

bool is_logged(LogLevel level) { return logger().should_log(level_of(level)); }

void log(LogLevel level, const std::string& text) {
  if (text.empty() || level == LogLevel::off) return;
  logger().log(level_of(level), std::string_view(one_line(text)));
}

void log_once(LogLevel level, const std::string& text) {
  ProcessLog& mine = process_log();
  {
    const std::lock_guard lock(mine.mutex);
    if (!mine.said.insert(text).second) return;
  }
  log(level, text);
}

void log_own(LogLevel level, const std::string& text) {
  if (text.empty()) return;
  ProcessLog& mine = process_log();
  const std::string line = one_line(fmt::format("rank {}: {}", mine.rank, text));
  log(level, line);
  if (mine.rank == 0 || level < mine.level) return;
  std::cerr << kPrefixes[level_of(level)] + harmless(line) + '\n' << std::flush;
}

void print_error(const std::string& message) {
  logger().log(kEnd, std::string_view(one_line(message)));
}

BeforeLogLine::BeforeLogLine(std::function<void()> clear) {
  process_log().terminal->clear_before(std::move(clear));
}

BeforeLogLine::~BeforeLogLine() { process_log().terminal->clear_before({}); }

}  // namespace rueda
