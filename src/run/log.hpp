#pragma once

#include <functional>
#include <string>

#include "rueda/core/error.hpp"
#include "rueda/train/config.hpp"

namespace rueda {

class Session;

/// From now on this rank logs messages of `level` and above: rank 0 on the terminal, and each rank
/// in the file rank-N.log of `directory`, unless that is empty. Throws InputError where the file
/// cannot be written.
void open_log(LogLevel level, const std::string& directory, int rank);

/// Whether a message of this level goes anywhere.
bool is_logged(LogLevel level);

/// Logs one line. The terminal shows it as "note: TEXT" (LogLevel::info), "warning: TEXT" and so
/// on.
void log(LogLevel level, const std::string& text);

/// Writes the error that ends this process to standard error, from any rank and at any level. It
/// is written in one piece, so that a launcher's own text does not come in between.
void print_error(const std::string& message);

/// Thrown in place of an error that the user has seen.
struct AlreadyReported {
  ExitCode code;
};

/// Prints an error that all ranks agreed on, on one of them, and returns what to throw. To be
/// called while MPI is still up: a launcher ends the whole job when the first rank has left with an
/// exit code, so the error must be printed before any rank finalizes.
AlreadyReported report(const Error& error);

/// Does the `work` of one rank while MPI is up. An error that all ranks throw alike is printed by
/// one of them (and thrown as AlreadyReported). An error of this rank alone is printed by it, and
/// ends the job: peers may wait in a collective that this rank will never reach.
void report_errors_of_ranks(Session& session, const std::function<void()>& work);

}  // namespace rueda
