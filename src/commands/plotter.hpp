#pragma once

#include <string>
#include <vector>

namespace rueda {

/// Whether there is a Python with matplotlib: the one that RUEDA_PLOT_PYTHON names, or else python3
/// in PATH or in /usr/bin.
bool plotter_available();

/// Throws InputError, which begins with `option` and ends with `otherwise`, if there is none.
void check_plotter(const std::string& option, const std::string& otherwise);

/// Runs jobs/<script>.py, which is part of the program, with these arguments and `input` on its
/// standard input. Throws InputError if there is no Python for it or the script refuses its input
/// (exit code 2), RunError for any other failure, both with what the script said. Not while MPI is
/// up: its libraries do not bear new processes well.
void run_plot_script(const std::string& script, const std::vector<std::string>& arguments,
                     const std::string& input = {});

}  // namespace rueda
