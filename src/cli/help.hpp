#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace rueda {

/// Writes help in lines that fit the terminal, each option with its default.
std::shared_ptr<CLI::FormatterBase> help_formatter();

/// Gives rueda train its `--help [TOPIC]` and `--help-all`.
void add_help_topics(CLI::App& train);

/// The help that these arguments ask for, the command line that `app` has just
/// read. That of train has only what most runs need, unless a topic (the first
/// word of a heading, or an option) or everything is asked for. Throws
/// InputError for a topic that there is not.
std::string help_text(CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace rueda
