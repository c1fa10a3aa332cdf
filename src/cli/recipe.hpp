#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "rueda/train/config.hpp"

namespace rueda {

/// Gives one option the value of a file, unless it is set already or excluded by
/// one that is. Throws InputError that begins with `source`.
void set_if_open(CLI::Option& option, const std::string& value, const std::string& source);

/// Gives options of `command` that are still open their values in a recipe: a
/// TOML file of flat `option = value` lines, optionally below the section
/// [NAME OF THE COMMAND]. Throws InputError naming file and line.
void apply_recipe(CLI::App& command, const std::string& file);

/// What apply_recipe reads: each option that has a value, so that defaults of
/// another version change nothing. Not where the run goes, nor where it came from.
std::string recipe_of(const TrainConfig& config);

}  // namespace rueda
