#pragma once

#include <string>

#include "record/aggregation.hpp"

namespace rueda {

/// What to do about the time that the steps wait for the all-reduce: about a late rank where most
/// of it is waiting, and about the sum itself where transfer and adding are long. Empty: nothing.
std::string all_reduce_advice(const RunRecord& run, const StepBreakdown& b);

}  // namespace rueda
