#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace rueda {

/// Gives the options of `command` the values of a recipe: a TOML file of flat `option = value`
/// lines, optionally below the section [NAME OF THE COMMAND]. Options that the command line has
/// already set keep their value, and so do those that exclude one which it has set.
/// To be called when `command` has parsed its arguments. Throws InputError naming file and line
/// for a file that cannot be read, text that is no TOML, a key that is no option or occurs twice, a
/// value that its option refuses, and two keys that exclude each other.
void apply_recipe(CLI::App& command, const std::string& file);

/// Gives one option a value that a file has for it, unless it is set already or excluded by one
/// that is. Throws InputError, which `source` begins, for a value that the option refuses.
void set_if_open(CLI::Option& option, const std::string& value, const std::string& source);

}  // namespace rueda
