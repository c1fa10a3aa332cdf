#pragma once

#include <CLI/CLI.hpp>

#include "rueda/train/config.hpp"

namespace rueda {

/// Adds all options of `rueda train` to `app`, bound to `config`, in the groups of the help text.
/// Their form is checked while parsing, their ranges by `validate`.
void add_train_options(CLI::App& app, TrainConfig& config);

/// Gives the options that are still open their values of the run that `config.resume` means.
/// To be called when the command line and the recipe have been read. Throws InputError where there
/// is no checkpoint (but for `auto`) and for one whose options this program refuses. A checkpoint
/// that cannot be read is left to find_resume_point.
void apply_resumed_options(CLI::App& command, const TrainConfig& config);

/// Notes in `config.given` which options have been set.
void note_given(const CLI::App& command, TrainConfig& config);

}  // namespace rueda
