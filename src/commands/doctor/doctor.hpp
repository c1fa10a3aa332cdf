#pragma once

#include "options.hpp"

namespace rueda {

/// Examines machine, launch, MPI, GPUs and data on all processes of the run, prints a report on the
/// one that speaks, and returns the exit code: 0 if training would work, 1 if not. Whatever crashes
/// or hangs does so in a process of its own. The other processes return 0, so that no launcher ends
/// the one that still has to speak.
int run_doctor(const DoctorOptions& options);

}  // namespace rueda
