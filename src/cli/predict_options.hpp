#pragma once

#include <CLI/CLI.hpp>

#include "commands/predict/options.hpp"

namespace rueda {

void add_predict_options(CLI::App& command, PredictOptions& options);

}  // namespace rueda
