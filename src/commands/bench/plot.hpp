#pragma once

#include <string>

namespace rueda::bench {

/// Throws InputError if there is no Python with matplotlib: the one that RUEDA_PLOT_PYTHON names,
/// or the system's.
void check_plotter();

/// Has jobs/plot_all_reduce.py, which is part of the program, draw the record `json` into `file`.
/// Throws RunError if that fails; the script says why. Not while MPI is up: its libraries do not
/// bear new processes well.
void plot_record(const std::string& json, const std::string& file);

}  // namespace rueda::bench
