#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "study/study.hpp"
#include "train/balance.hpp"

namespace rueda {

/// The ranks' parts of a batch in a run, and those that --balance speed would give them.
struct RankShares {
  std::vector<RankCost> costs;        ///< of each rank
  std::vector<std::size_t> images;    ///< that it had in a full step
  std::vector<std::size_t> by_speed;  ///< that it would have
};

/// By the run's last steady epoch, as means over its steps. Nothing where --balance
/// speed was on or would leave the parts as they are, and where a rank had no image.
std::optional<RankShares> shares_to_change(const RunResult& run);

}  // namespace rueda
