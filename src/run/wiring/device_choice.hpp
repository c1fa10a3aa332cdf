#pragma once

#include <exception>
#include <string>
#include <vector>

#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/config.hpp"

namespace rueda {

/// The GPU of this process, once it is selected.
struct SelectedDevice {
  std::string uuid;  ///< of the GPU; empty: none was selected
  std::string remark;
  std::exception_ptr failure;  ///< to be thrown where all ranks can agree on it
};

/// Chooses and selects this process's GPU for the thread that calls, if the run
/// wants one and there is one. To be called before MPI is initialised: MPI
/// libraries that take GPU memory look then at the current device.
SelectedDevice select_device(BackendChoice backend);

/// Where a rank computes.
struct RankPlace {
  std::string host;
  std::string uuid;  ///< of its GPU; empty without one
};

/// Which ranks compute on the same GPU, for example "ranks 0 and 2 on
/// GPU-8f2c... of node17"; empty if each has its own.
std::string shared_devices(const std::vector<RankPlace>& ranks);

/// Collective: refuses ranks that share a GPU, with the same InputError on all
/// of them. If sharing is `allowed`, it is noted instead.
void check_shared_devices(RankGroup& group, const RankPlace& mine, bool allowed);

}  // namespace rueda
