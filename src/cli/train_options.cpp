#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/help.hpp"
#include "cli/hints.hpp"
#include "cli/options.hpp"
#include "cli/recipe.hpp"
#include "launch/launcher.hpp"
#include "run/resume/taken_options.hpp"

namespace rueda {
namespace {

/// The fault that a test injects.
InjectedFault fault_of_test() {
  const std::string text = variable_text(environment_variable, kFaultVariable);
  if (text.empty()) return {};
  try {
    return parse_fault(text);
  } catch (const InputError& error) {
    throw InputError(std::string(kFaultVariable) + ": " + error.what());
  }
}

/// Adds all options of the table. What few runs need comes last in the help.
void add_table(CLI::App& command, TrainConfig& config) {
  for (const bool last : {false, true})
    for (const TrainOption& option : train_options())
      if ((option.group == std::string_view(kLastGroup)) == last)
        add_option(command, option, config);
}

}  // namespace

CLI::App& add_command(CLI::App& app, const std::string& name, const std::string& purpose,
                      const std::string& examples) {
  CLI::App& command = *app.add_subcommand(name, purpose);
  if (!examples.empty()) command.footer("Example:\n" + examples);
  // A job script may append its own words to common ones.
  command.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  return command;
}

CLI::Option* add_parsed(CLI::App& app, const std::string& name, const std::string& placeholder,
                        const std::string& description, const std::string& present,
                        const std::function<void(const std::string&)>& set) {
  const auto take = [name, set](const std::string& text) {
    try {
      set(text);
    } catch (const InputError& error) {
      throw CLI::ValidationError(name, error.what());
    }
  };
  std::string shown;
  if (!present.empty()) shown = " [" + present + "]";
  return app.add_option_function<std::string>(name, take, description + shown)
      ->option_text(placeholder);
}

void note_given(const CLI::App& command, TrainConfig& config) {
  for (const TrainOption& option : train_options()) {
    const CLI::Option* here = command.get_option_no_throw(name_of(option));
    if (here != nullptr && here->count() > 0) config.given.insert(option.name);
  }
}

TrainOption shared_option(std::string_view name, const std::string& help) {
  TrainOption option = train_option(name);
  option.group = "Options";
  if (!help.empty()) option.help = help;
  return option;
}

TrainOption plain_option(std::string_view name, const std::string& help) {
  TrainOption option = shared_option(name, help);
  if (auto* words = std::get_if<Words>(&option.kind)) words->words.pop_back();
  if (const auto* number = std::get_if<NumberOrWord<std::size_t>>(&option.kind)) {
    option.kind = NumberIn<std::size_t>{number->place, number->range};
    option.placeholder = "N";
  }
  return option;
}

void add_option(CLI::App& app, const TrainOption& option, TrainConfig& config) {
  app.option_defaults()->group(option.group);
  if (const auto* flag = std::get_if<Flag>(&option.kind)) {
    app.add_flag(name_of(option), flag->place.of(config), option.help);
    return;
  }
  std::string placeholder = option.placeholder;
  if (const auto* kind = std::get_if<Words>(&option.kind)) placeholder = joined(kind->words, "|");
  add_parsed(app, name_of(option), placeholder, option.help, to_string(value_of(option, config)),
             [&app, &config, option](const std::string& text) {
               const std::string removal = removal_of(app, name_of(option) + ' ' + text);
               require(removal.empty(), removal);
               set_option(option, config, text);
             });
}

void add_train(CLI::App& app, Request& request) {
  CLI::App& command =
      add_command(app, "train", "Trains a network; start it with mpirun or srun, a rank per device",
                  "  mpirun -n 2 rueda train --model resnet20 --data data/synth\n"
                  "  mpirun -n 2 rueda train --config recipe.toml --epochs 10\n"
                  "  mpirun -n 4 rueda train --run-dir runs/long --resume auto");
  add_help_topics(command);
  const auto shared = std::make_shared<TrainConfig>();
  TrainConfig& config = *shared;
  const auto prints = std::make_shared<bool>(false);
  command.callback([shared, prints, &request] {
    shared->checks.fault = fault_of_test();
    validate_given(*shared);
    if (*prints) complete_by_checkpoint(*shared);
    if (*prints)
      request = PrintText{recipe_of(*shared)};
    else
      request = *shared;
  });
  const auto recipe = std::make_shared<std::string>();
  add_text(command, "--config", *recipe, "FILE",
           "TOML recipe, in UTF-8 or UTF-16, of lines  option = value, as in  lr = 0.1; an unknown "
           "key is an error with its line; the command line takes precedence [none]")
      ->configurable(false);
  command
      .add_flag("--print-config", *prints,
                "Trains nothing, and prints the recipe that these options come to [off]")
      ->configurable(false);
  add_table(command, config);
  command.get_option("--batch-per-rank")->excludes("--global-batch");
  // The command line is read by now: the recipe only sets what it left open.
  command.parse_complete_callback([recipe, &command, &config] {
    if (!recipe->empty()) apply_recipe(command, *recipe);
    note_given(command, config);
  });
}

}  // namespace rueda
