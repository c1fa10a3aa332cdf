#pragma once

#include <array>
#include <functional>
#include <string>

// The log: notes, warnings and errors, each one line. Whoever notices something
// says it here, from any room and any thread.
//
// Rank 0 speaks for all on standard error. Every rank's lines go to its own file
// where there is --log-dir. So what all ranks notice alike is read once.

namespace rueda {

/// How important a message is, and the least important ones that are logged: `off` is none.
enum class LogLevel { trace, debug, info, warn, error, off };
constexpr auto words_of(LogLevel) {
  return std::array{"trace", "debug", "info", "warn", "error", "off"};
}

/// From now on this rank logs messages of `level` and above: rank 0 on the
/// terminal, and each rank in the file rank-N.log of `directory`, unless that
/// is empty. Throws InputError where the file cannot be written. Until then
/// only errors are shown.
void open_log(LogLevel level, const std::string& directory, int rank);

/// The same rank logs this level and above from now on.
void set_log_level(LogLevel level);

/// Whether a message of this level goes anywhere.
bool is_logged(LogLevel level);

/// Logs one line. The terminal shows it as "note: TEXT" (LogLevel::info),
/// "warning: TEXT" and so on. An empty text is none, and nothing is logged at `off`.
void log(LogLevel level, const std::string& text);
/// The same, unless this process has logged this text before.
void log_once(LogLevel level, const std::string& text);
/// Something of this rank or its host alone: any rank's terminal shows it, as
/// "note: rank 3: TEXT".
void log_own(LogLevel level, const std::string& text);

/// Writes the error that ends this process to standard error, from any rank and
/// at any level. It is written in one piece, so that a launcher's own text does
/// not come in between.
void print_error(const std::string& message);

/// Has `clear` take away what stands on the terminal's last line, a progress
/// bar for example, before a line of the log; as long as this exists.
class BeforeLogLine {
 public:
  explicit BeforeLogLine(std::function<void()> clear);
  ~BeforeLogLine();
  BeforeLogLine(const BeforeLogLine&) = delete;
};

}  // namespace rueda
