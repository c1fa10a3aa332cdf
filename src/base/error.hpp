#pragma once

#include <stdexcept>
#include <string>

#include "base/text.hpp"

namespace rueda {

/// The exit code of the process.
enum class ExitCode : int {
  done = 0,
  run_failed = 1,  ///< the run itself failed (NaN loss, replica mismatch, MPI or device fault)
  bad_input = 2,   ///< bad usage or bad input; nothing was computed or overwritten
  stopped = 75,    ///< asked to stop, and saved: to be resumed (EX_TEMPFAIL of sysexits.h)
};

/// A failure that a person can act on. `what()` is one message that names what,
/// where and the remedy. It is one line: whatever file or argument it quotes
/// goes through one_line() here. main() prints it once, on one rank, and ends
/// with `code()`.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message)
      : std::runtime_error(one_line(message)), code_(code) {}
  ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// Bad usage or bad input: exit code 2.
struct InputError : Error {
  explicit InputError(const std::string& message) : Error(ExitCode::bad_input, message) {}
};

/// Throws InputError with `otherwise` unless `holds`.
inline void require(bool holds, const std::string& otherwise) {
  if (!holds) throw InputError(otherwise);
}

/// The run failed: exit code 1.
struct RunError : Error {
  explicit RunError(const std::string& message) : Error(ExitCode::run_failed, message) {}
};

/// An allocation failed. Nothing else is wrong: the program may free memory and ask for less.
struct OutOfMemory : RunError {
  using RunError::RunError;
};

}  // namespace rueda
