#pragma once

#include <cstddef>

#include "rueda/backend/replica.hpp"
#include "rueda/train/config.hpp"

namespace rueda {

/// Puts the fault of `--inject` in, if `rank` and `step` (global, from 1) are its own: flips one
/// bit of the middle parameter, makes the first weight of the classifier NaN, or sends this process
/// a signal. Called at the start of the step.
void inject_fault(const InjectedFault& fault, std::size_t rank, std::size_t step, Replica& replica);

}  // namespace rueda
