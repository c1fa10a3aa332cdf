#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace rueda {

/// Adds an option that takes a number. Help shows `--name PLACEHOLDER` and the present value of
/// `value` as the default; anything but a plain number of the variable's kind is refused.
template <typename Number>
CLI::Option* add_number(CLI::App& app, const std::string& name, Number& value,
                        const std::string& placeholder, const std::string& description);

/// The same for a number that may be absent.
CLI::Option* add_number(CLI::App& app, const std::string& name, std::optional<double>& value,
                        const std::string& placeholder, const std::string& description);

/// The same for a number in whose place `word` may stand, which means `meaning`.
CLI::Option* add_number_or_word(CLI::App& app, const std::string& name, std::size_t& value,
                                const std::string& placeholder, const std::string& word,
                                std::size_t meaning, const std::string& description);

/// Adds an option that takes any text. An empty default is not shown.
CLI::Option* add_text(CLI::App& app, const std::string& name, std::string& value,
                      const std::string& placeholder, const std::string& description);

/// Adds an option that takes one of `words`, which help lists, and passes it to `set`.
CLI::Option* add_words(CLI::App& app, const std::string& name,
                       const std::vector<std::string>& words, const std::string& present,
                       const std::string& description,
                       const std::function<void(const std::string&)>& set);

/// Adds an option for an enum whose words its `to_string` knows.
template <typename Enum>
CLI::Option* add_choice(CLI::App& app, const std::string& name, Enum& value,
                        std::initializer_list<Enum> choices, const std::string& description) {
  std::vector<std::string> words;
  for (const Enum choice : choices) words.emplace_back(to_string(choice));
  const std::vector<Enum> values(choices);
  return add_words(app, name, words, to_string(value), description,
                   [&value, values](const std::string& word) {
                     for (const Enum choice : values)
                       if (word == to_string(choice)) value = choice;
                   });
}

}  // namespace rueda
