#pragma once

#include <array>
#include <string>
#include <vector>

namespace rueda {

/// A command of the reader of finished runs, a program in Python that this one carries.
struct ReaderCommand {
  const char* name;
  const char* purpose;  ///< for the list of commands
};
inline constexpr std::array kReaderCommands = {
    ReaderCommand{"report",
                  "Makes tables and findings of a scaling study's runs; needs no MPI and no GPU"},
    ReaderCommand{"predict", "Predicts epochs on any number of ranks from runs; needs no MPI"}};

bool is_readers_command(const std::string& word);

/// Replaces this process by the reader, which gets these words as they are and
/// the variables RUEDA_PROGRAM, this program's path, and RUEDA_VERSION. Throws
/// InputError if there is no Python for it.
[[noreturn]] void become_reader(const std::vector<std::string>& words);

/// Whether there is a Python with matplotlib: the one that RUEDA_PLOT_PYTHON
/// names, or else python3 in PATH or in /usr/bin.
bool plotter_available();

/// Throws InputError, which begins with `option` and ends with `otherwise`, if there is none.
void check_plotter(const std::string& option, const std::string& otherwise);

/// For a command's --plot FILE, which may be empty: refuses before the work what could not be drawn
/// after it. Throws InputError.
void check_plot(const std::string& script, const std::string& file);
/// Draws `json`, what --json writes, with jobs/<script>.py. Throws RunError naming the option.
void draw_plot(const std::string& script, const std::string& file, const std::string& json);

/// Runs jobs/<script>.py, which is part of the program, with these arguments
/// and `input` on its standard input. Returns what it printed. It ends with this
/// process. Throws InputError if there is no Python for it or the script refuses
/// its input (exit code 2), RunError for any other failure, both with what the
/// script said. Not while MPI is up: its libraries do not bear new processes well.
std::string run_plot_script(const std::string& script, const std::vector<std::string>& arguments,
                            const std::string& input = {});

}  // namespace rueda
