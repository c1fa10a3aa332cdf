#pragma once

#include "rueda/predict/cost_fit.hpp"

namespace rueda::predict {

/// Fills in the machine of the model: what is given, else what was fitted (`fit.machine`), on one
/// level or two; tells in the notes what was assumed. Throws InputError where something is neither.
void set_machine(CostFit& fit, const Target& target, const Given& given);

}  // namespace rueda::predict
