#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "launch/machine.hpp"

// Which GPU a process takes, and the processors near it.

namespace rueda {

/// The GPU that a process takes, by the number that it has among those that the process sees.
struct DeviceChoice {
  int ordinal = 0;
  std::string remark;  ///< empty, or what the user should know
};

/// Which of `visible` GPUs, at least 1, a process takes. Where a site shows
/// each process its own GPU only, that is the one; where it shows all, they are
/// dealt out by `local_rank`, and again from the first where there are more
/// ranks than GPUs. Without a local rank every process takes the first, which
/// is remarked unless it is the only one (`has_peers`).
DeviceChoice choose_device(std::optional<int> local_rank, bool has_peers, int visible);

/// For each of `ranks` local ranks the processors of the NUMA node of its GPU, as the driver and
/// the kernel tell below `root`, without CUDA. `launch` holds, in words that end in zeros, the
/// environment and the command line of the ranks' common parent, because ranks that looked at their
/// own environment could disagree, and the arguments that choose the backend. All are empty where
/// that is no GPU, or CUDA's numbers of the GPUs are not determined; one where its node is not.
ProcessorLists near_gpus(const std::filesystem::path& root, const std::string& launch,
                         std::size_t ranks);

}  // namespace rueda
