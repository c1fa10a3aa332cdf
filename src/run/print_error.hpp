#pragma once

#include <string>

#include "rueda/core/error.hpp"

namespace rueda {

/// Writes the message to standard error in one piece, so that nothing of a launcher's own comes in
/// between.
void complain(const std::string& message);

/// Thrown in place of an error that the user has been told.
struct Told {
  ExitCode code;
};

/// Tells an error that all ranks agreed on, on one rank's voice, and returns what to throw. To be
/// called while MPI is still up: a launcher ends the whole job when the first rank has left with an
/// exit code, so that the one that speaks must have spoken before any of them finalizes.
Told tell(const Error& error);

}  // namespace rueda
