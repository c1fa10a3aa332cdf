#pragma once

#include <iosfwd>

#include "options.hpp"

namespace rueda {

/// Reads the runs, prints an overview with the findings, and writes the report where `out` says.
/// Throws InputError for what cannot be read, RunError for what cannot be written.
void run_report(const ReportOptions& options, std::ostream& out);

}  // namespace rueda
