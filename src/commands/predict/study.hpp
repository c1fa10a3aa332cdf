#pragma once

#include <cstddef>
#include <vector>

#include "options.hpp"
#include "rueda/predict/forecast.hpp"

namespace rueda {

/// What a prediction is made from.
struct PredictStudy {
  std::vector<RunResult> runs;  ///< all that were given
  predict::CostFit fit;
};

/// Reads the files and fits. Throws InputError.
PredictStudy read_study(const PredictOptions& options);

/// What is asked for on so many ranks: by the options, else as the runs had it. Throws InputError
/// where neither says, and for more ranks than images.
predict::Scenario scenario_on(const PredictOptions& options, const PredictStudy& study,
                              std::size_t ranks);

}  // namespace rueda
