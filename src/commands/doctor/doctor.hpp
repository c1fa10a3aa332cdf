#pragma once

#include <string>

#include "rueda/train/config.hpp"

namespace rueda {

/// A fault that tests put into the doctor's own run, as KIND:RANK.
struct DoctorFault {
  enum class Kind {
    none,
    crash_start,     ///< a signal before MPI is initialised
    stall_start,     ///< no end of the same step
    crash_transfer,  ///< an invalid address in the middle of the patterned transfer
    die_transfer,    ///< a signal that no process can catch
    end_transfer,    ///< the signal by which a launcher ends ranks
    stall_transfer,  ///< a rank that never sends
    wrong_transfer,  ///< an element that came otherwise than it was sent
  } kind = Kind::none;
  int rank = 0;  ///< as the launcher counts
};

/// The options of `rueda doctor`.
struct DoctorOptions {
  std::string data;  ///< a data set to check; empty: none
  std::string json;  ///< file to write; empty: none
  BackendChoice backend = BackendChoice::automatic;
  bool allow_shared_gpu = false;
  int timeout = 60;      ///< seconds for a step
  std::string fault;     ///< as it was given
  DoctorFault injected;  ///< as it was read
};

/// Reads `options.fault` and checks the rest; throws InputError naming the option.
void validate(DoctorOptions& options);

/// Examines machine, launch, MPI, GPUs and data on all processes of the run. One of them, which
/// speaks, prints a report and returns the exit code: 0 if training would work, 1 if not. What may
/// crash or hang runs in a process of its own. The other processes return 0: no launcher then ends
/// the one that speaks.
int run_doctor(const DoctorOptions& options);

}  // namespace rueda
