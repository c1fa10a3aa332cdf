#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace rueda {

/// "rueda bench layers".
std::string full_name(const CLI::App& command);

/// What to write instead of an option or a recipe's key that `command` does not
/// have: the option of a similar name or the one that other frameworks call so,
/// or the launcher's option for a number of ranks. `value` follows it. Empty: no
/// idea.
std::string hint_for(const CLI::App& command, const std::string& word, const std::string& value);

/// "X was removed: USE", where `word` is an option, a recipe's key or a command
/// that `command` had in an earlier version; else empty.
std::string removal_of(const CLI::App& command, const std::string& word);

}  // namespace rueda
