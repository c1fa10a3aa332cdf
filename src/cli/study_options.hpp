#pragma once

#include <CLI/CLI.hpp>

#include "commands/predict/predict.hpp"
#include "commands/report/report.hpp"

namespace rueda {

void add_report_options(CLI::App& command, ReportOptions& options);
void add_predict_options(CLI::App& command, PredictOptions& options);

}  // namespace rueda
