#pragma once

#include <vector>

#include "rueda/study/table.hpp"
#include "study.hpp"

namespace rueda {

/// All that is told: the forecast, that of --what-if, runs beside their prediction, losses, the
/// simulation, and what was fitted. Throws InputError as scenario_on() does.
std::vector<Table> prediction_tables(const PredictOptions& options, const PredictStudy& study);

}  // namespace rueda
