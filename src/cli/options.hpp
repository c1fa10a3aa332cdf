#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/cli.hpp"
#include "train/options.hpp"

namespace rueda {

/// Adds a command. `examples` may be empty.
CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& purpose,
                      const std::string& examples);

/// The options of a command, with their defaults. When the command line has
/// been read, they are checked and become `request`.
template <typename Options>
Options& options_of(CLI::App& command, Request& request) {
  const auto options = std::make_shared<Options>();
  command.callback([options, &request] {
    validate(*options);
    request = *options;
  });
  return *options;
}

/// Adds an option whose text `set` takes. Help shows `--name PLACEHOLDER` and
/// the default, unless that is empty. An InputError of `set` is reported with
/// the option's name.
CLI::Option* add_parsed(CLI::App& app, const std::string& name, const std::string& placeholder,
                        const std::string& description, const std::string& present,
                        const std::function<void(const std::string&)>& set);

/// Adds an option that takes a plain number of the variable's kind.
template <typename Number>
CLI::Option* add_number(CLI::App& app, const std::string& name, Number& value,
                        const std::string& placeholder, const std::string& description) {
  return add_parsed(app, name, placeholder, description, to_string(OptionValue(value)),
                    [&value](const std::string& text) { value = parse_number<Number>(text); });
}

/// The same for a number that may be absent.
inline CLI::Option* add_number(CLI::App& app, const std::string& name, std::optional<double>& value,
                               const std::string& placeholder, const std::string& description) {
  return add_parsed(app, name, placeholder, description, "",
                    [&value](const std::string& text) { value = parse_number<double>(text); });
}

/// Adds an option that takes any text.
inline CLI::Option* add_text(CLI::App& app, const std::string& name, std::string& value,
                             const std::string& placeholder, const std::string& description) {
  return add_parsed(app, name, placeholder, description, value,
                    [&value](const std::string& text) { value = text; });
}

/// Adds an option for an enum whose words its `to_string` knows.
template <typename Enum>
CLI::Option* add_choice(CLI::App& app, const std::string& name, Enum& value,
                        std::initializer_list<Enum> choices, const std::string& description) {
  std::vector<const char*> words;
  for (const Enum choice : choices) words.push_back(to_string(choice));
  const std::vector<Enum> values(choices);
  return add_parsed(app, name, joined(words, "|"), description, to_string(value),
                    [&value, values, words](const std::string& word) {
                      value = values[parse_word(words, word)];
                    });
}

/// "--lr".
inline std::string name_of(const TrainOption& option) { return std::string("--") + option.name; }

/// Adds an option of the table of `rueda train`, whose value goes into `config`.
void add_option(CLI::App& app, const TrainOption& option, TrainConfig& config);

/// The option of this name for another command, among its own options in the
/// help; with another text, if one is given.
TrainOption shared_option(std::string_view name, const std::string& help = "");

/// The same without what only training knows: the last of its words, or the
/// word that may stand in place of a number.
TrainOption plain_option(std::string_view name, const std::string& help);

/// Notes in `config` which options of the table the user gave.
void note_given(const CLI::App& command, TrainConfig& config);

/// Add these commands and their options.
void add_train(CLI::App& app, Request& request);
void add_bench(CLI::App& app, Request& request);

}  // namespace rueda
