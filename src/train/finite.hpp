#pragma once

#include <string>

#include "rueda/reduce/rank_group.hpp"

namespace rueda {

/// Collective: a RunError on every rank, saying `what` and naming those where `finite` does not
/// hold, if there are any.
void stop_unless_finite(RankGroup& group, bool finite, const std::string& what);

}  // namespace rueda
