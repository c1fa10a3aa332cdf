#pragma once

#include <string>

#include "rueda/train/config.hpp"

namespace rueda {

/// The options of `rueda doctor`.
struct DoctorOptions {
  std::string data;  ///< a data set to check; empty: none
  std::string json;  ///< file to write; empty: none
  BackendChoice backend = BackendChoice::automatic;
  bool allow_shared_gpu = false;
  int timeout = 60;  ///< seconds for a step
};

/// Throws InputError naming the option.
void validate(const DoctorOptions& options);

/// Examines machine, launch, MPI, GPUs and data on all processes of the run.
/// One of them, which speaks, prints a report and returns the exit code: 0 if
/// training would work, 1 if not. What may crash or hang runs in a process of
/// its own. The other processes return 0: no launcher then ends the one that
/// speaks. Throws InputError for a fault of tests that there is not (fault.hpp).
int run_doctor(const DoctorOptions& options);

}  // namespace rueda
