#pragma once

#include <iosfwd>

#include "options.hpp"

namespace rueda {

/// Fits a cost model to runs and measurements, predicts with it, prints the tables and writes the
/// files that were asked for. Needs neither MPI nor a device. Throws InputError.
void run_predict(const PredictOptions& options, std::ostream& out);

}  // namespace rueda
