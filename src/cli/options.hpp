#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "commands/bench/bench.hpp"
#include "commands/commands.hpp"
#include "rueda/train/config.hpp"
#include "rueda/train/options.hpp"

namespace rueda {

/// Adds a command. `examples` may be empty.
CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& purpose,
                      const std::string& examples);

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

/// Adds an option that may be repeated.
template <typename Values>
CLI::Option* add_list(CLI::App& app, const std::string& name, Values& values,
                      const std::string& placeholder, const std::string& description) {
  return app.add_option(name, values, description)
      ->option_text(placeholder)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

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

/// Gives one option a value that a file has for it, unless it is set already or excluded by one
/// that is. Throws InputError, which `source` begins, for a value that the option refuses.
void set_if_open(CLI::Option& option, const std::string& value, const std::string& source);

/// Adds all options of `rueda train` to `app`, bound to `config`, in the groups of the help text.
/// Their form is checked while parsing, their ranges by `validate`.
void add_train_options(CLI::App& app, TrainConfig& config);

/// Gives the options of `command` the values of a recipe: a TOML file of flat `option = value`
/// lines, optionally below the section [NAME OF THE COMMAND]. Options that the command line has
/// already set keep their value, and so do those that exclude one which it has set.
/// To be called when `command` has parsed its arguments. Throws InputError naming file and line
/// for a file that cannot be read, text that is no TOML, a key that is no option or occurs twice, a
/// value that its option refuses, and two keys that exclude each other.
void apply_recipe(CLI::App& command, const std::string& file);

/// Gives the options that are still open their values of the run that `config.resume` means.
/// To be called when the command line and the recipe have been read. Throws InputError where there
/// is no checkpoint (but for `auto`) and for one whose options this program refuses. A checkpoint
/// that cannot be read is left to find_resume_point.
void apply_resumed_options(CLI::App& command, const TrainConfig& config);

/// Notes in `config.given` which options have been set.
void note_given(const CLI::App& command, TrainConfig& config);

/// What `rueda bench` can be asked for.
struct BenchLine {
  BenchAllReduceOptions all_reduce;
  BenchTuneOptions tune;
  BenchExplainOptions explain;
};

/// Add these commands and their options.
void add_bench(CLI::App& app, BenchLine& line);
void add_predict(CLI::App& app, PredictOptions& options);
void add_report(CLI::App& app, ReportOptions& options);

}  // namespace rueda
