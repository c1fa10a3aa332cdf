#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rueda/backend/backend.hpp"
#include "rueda/reduce/rank_group.hpp"

namespace rueda {

/// Collective. To be called before all ranks make plans on their `backend`, by
/// `plan`: of what NVRTC compiles, each rank compiles a part, and gets the rest
/// from others. Where that does not work, the rank compiles when it plans. A
/// rank with the environment variable RUEDA_SHARE_PLANS=0 takes no part.
void compile_in_turns(RankGroup& world, Backend& backend, const std::function<void()>& plan);

/// Which rank compiles which plan, from the titles of those that each rank
/// wants, one a line: a rank that wants it, and all about as many.
std::map<std::string, int> share_out_plans(const std::vector<std::string>& wanted);

/// Warns of plans that are slow and of engines that `backend` left out because
/// they did not compile or run, and notes which plans of --plan-cache were not read or not written,
/// and why.
void log_plans(const Backend& backend);

}  // namespace rueda
