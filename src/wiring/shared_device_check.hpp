#pragma once

#include <string>
#include <vector>

#include "rueda/reduce/rank_group.hpp"

namespace rueda {

/// Where a rank computes.
struct RankPlace {
  std::string host;
  std::string uuid;  ///< of its GPU; empty without one
};

/// Which ranks compute on the same GPU, for example "ranks 0 and 2 on GPU-8f2c... of node17"; empty
/// if each has its own.
std::string shared_devices(const std::vector<RankPlace>& ranks);

/// Collective: refuses ranks that share a GPU, with the same InputError on all of them. If
/// `allowed`, returns a remark instead, on rank 0; else nothing.
std::string check_shared_devices(RankGroup& group, const RankPlace& mine, bool allowed);

}  // namespace rueda
