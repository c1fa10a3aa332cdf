#include "log.hpp"

#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>

#include "mpi/session/session.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "wiring/device_choice.hpp"

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

/// Without time and rank. Errors go to standard error, the rest to standard output, where the
/// tables are.
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

spdlog::sink_ptr open_file(const std::filesystem::path& directory, int rank) {
  const std::string name = "rank-" + std::to_string(rank);
  try {
    std::filesystem::create_directories(directory);
    const auto file =
        std::make_shared<spdlog::sinks::basic_file_sink_mt>((directory / (name + ".log")).string());
    file->set_pattern("%Y-%m-%d %H:%M:%S.%e " + name + " %l: %v");
    return file;
  } catch (const std::exception& error) {  // spdlog_ex, filesystem_error
    throw InputError("--log-dir " + directory.string() + ": " + error.what() +
                     "; give a directory that you may write into, or leave it out");
  }
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
  logger().log(level_of(level), std::string_view(text));
}

void print_error(const std::string& message) { log(LogLevel::off, message); }

AlreadyReported report(const Error& error) {
  if (speaks_for_all()) {
    print_error(error.what());
  } else {
    log(LogLevel::error, error.what());
  }
  return {error.code()};
}

void report_errors_of_ranks(Session& session, const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    const auto* known = dynamic_cast<const Error*>(&error);
    if (known != nullptr && is_agreed(error)) throw report(*known);
    print_error(error.what());
    session.abort(known == nullptr ? ExitCode::run_failed : known->code());
  }
}

}  // namespace rueda
