#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "rueda/train/options.hpp"

namespace rueda {

/// Adds an option whose text `set` takes. Help shows `--name PLACEHOLDER` and the default, unless
/// that is empty. An InputError of `set` is reported with the option's name.
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
CLI::Option* add_text(CLI::App& app, const std::string& name, std::string& value,
                      const std::string& placeholder, const std::string& description);

/// Adds an option that takes one of `words`, which help lists.
CLI::Option* add_words(CLI::App& app, const std::string& name, std::string& value,
                       const std::vector<const char*>& words, const std::string& description);

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

}  // namespace rueda
