#pragma once

#include <csignal>
#include <string>

#include "rueda/train/config.hpp"

namespace rueda {

/// A fault that tests put into the doctor's own run.
struct DoctorFault {
  const char* name;
  int signal;  ///< that it raises; 0: it stalls, or sends something wrong
};

inline constexpr DoctorFault kDoctorFaults[] = {
    {"crash-start", SIGSEGV},     // before MPI is initialised
    {"stall-start", 0},           // no end of the same step
    {"crash-transfer", SIGSEGV},  // an invalid address in the middle of the patterned transfer
    {"die-transfer", SIGKILL},    // a signal that no process can catch
    {"end-transfer", SIGTERM},    // the signal by which a launcher ends ranks
    {"stall-transfer", 0},        // a rank that never sends
    {"wrong-transfer", 0}};       // an element that came otherwise than it was sent

/// The options of `rueda doctor`.
struct DoctorOptions {
  std::string data;  ///< a data set to check; empty: none
  std::string json;  ///< file to write; empty: none
  BackendChoice backend = BackendChoice::automatic;
  bool allow_shared_gpu = false;
  int timeout = 60;           ///< seconds for a step
  std::string fault;          ///< KIND:RANK, as it was given
  std::string injected_kind;  ///< a name in kDoctorFaults; empty: none
  int injected_rank = 0;      ///< as the launcher counts
};

/// Reads `options.fault` and checks the rest; throws InputError naming the option.
void validate(DoctorOptions& options);

/// Examines machine, launch, MPI, GPUs and data on all processes of the run.
/// One of them, which speaks, prints a report and returns the exit code: 0 if
/// training would work, 1 if not. What may crash or hang runs in a process of
/// its own. The other processes return 0: no launcher then ends the one that
/// speaks.
int run_doctor(const DoctorOptions& options);

}  // namespace rueda
