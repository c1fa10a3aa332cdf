#pragma once

#include <CLI/CLI.hpp>

#include "options.hpp"

namespace rueda {

void add_predict_options(CLI::App& command, PredictOptions& options);

}  // namespace rueda
