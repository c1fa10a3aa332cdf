#pragma once

#include <exception>
#include <optional>
#include <string>

#include "rueda/train/config.hpp"

namespace rueda {

/// The GPU that a process takes, by the number that it has among those that the process sees.
struct DeviceChoice {
  int ordinal = 0;
  std::string remark;  ///< empty, or what the user should know
};

/// Which of `visible` GPUs, at least 1, belongs to the process that its launcher counts as
/// `local_rank` on its node. Where a site shows each process its own GPU only, that is the one;
/// where it shows all, they are dealt out by local rank, and again from the first where there are
/// more ranks than GPUs. Without a local rank every process takes the first, which is remarked
/// unless it is the only one (`has_peers`).
DeviceChoice choose_device(std::optional<int> local_rank, bool has_peers, int visible);

/// What became of it on this process.
struct SelectedDevice {
  std::string uuid;  ///< of the GPU; empty: none was selected
  std::string remark;
  std::exception_ptr failure;  ///< to be thrown where all ranks can agree on it
};

/// Chooses and selects this process's GPU for the thread that calls, if the run wants one and there
/// is one. To be called before MPI is initialised: MPI libraries that take GPU memory look at the
/// device that is current then.
SelectedDevice select_device(BackendChoice backend);

}  // namespace rueda
