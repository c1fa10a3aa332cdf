#pragma once

#include "options.hpp"

namespace rueda::doctor {

/// The ends of the worker's pipes.
struct WorkerPipes {
  int facts = -1;  ///< to write lines of JSON to
  int go = -1;     ///< a byte comes when the report is out and the transfer may crash
};

/// The process that does what may crash or hang: everything with MPI and devices. It tells each
/// fact as soon as it is known, the risky transfer comes last. Returns the exit code.
///
/// Lines: {"step", "factor"}: it begins a step, which may take `factor` times the time limit;
/// {"ranks"}: the facts of its own rank alone, later of all; {"batches", "backend", "memory"};
/// {"mailbox"}: the path; {"transfer"}: how its own ended; {"transfers"}: how all ended;
/// {"failed"}: an error ended the step.
int run_worker(const DoctorOptions& options, WorkerPipes pipes);

}  // namespace rueda::doctor
