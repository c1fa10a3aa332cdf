#pragma once

#include <CLI/CLI.hpp>

#include "commands/report/options.hpp"

namespace rueda {

void add_report_options(CLI::App& command, ReportOptions& options);

}  // namespace rueda
