#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/json/bounded_json.hpp"
#include "base/text.hpp"
#include "base/text_input.hpp"
#include "cli/help.hpp"
#include "cli/hints.hpp"
#include "cli/options.hpp"
#include "cli/recipe.hpp"
#include "launch/launcher.hpp"
#include "record/recorded_options.hpp"
#include "record/recorded_path.hpp"
#include "record/run_json.hpp"
#include "run/resume_point.hpp"

namespace rueda {
namespace {

using Json = nlohmann::ordered_json;

std::optional<Manifest> first_readable(const std::vector<std::filesystem::path>& candidates) {
  for (const auto& candidate : candidates) {
    try {
      return read_manifest(candidate);
    } catch (const InputError&) {
      // find_resume_point reports it.
    }
  }
  return std::nullopt;
}

/// Of the two options for the batch, the one that did not decide.
bool is_idle(const Json& options, const std::string& name) {
  const Json global = options.value("global-batch", Json(0));
  if (name == "global-batch") return global == 0;
  return name == "batch-per-rank" && global != 0;
}

/// Whether this run writes the file that the option names.
bool is_written(const TrainOption& option, const TrainConfig& config) {
  const auto* text = std::get_if<Text>(&option.kind);
  return text != nullptr && text->is_written != nullptr && text->is_written(config);
}

/// Throws InputError where a resumed run used what was removed since.
void refuse_removed(const CLI::App& command, const Json& options, const std::string& resumed) {
  for (const auto& [name, value] : options.items()) {
    if (value.is_null() || value == Json(false)) continue;
    std::string removal = removal_of(command, "--" + name);
    if (value.is_string() && removal.empty())
      removal = removal_of(command, "--" + name + ' ' + value.get<std::string>());
    if (removal.empty()) continue;
    throw InputError(fmt::format(
        "{}: {}. This run used it: finish it with the version that began it, or begin anew",
        resumed, removal));
  }
}

/// The options of another run.
struct Recorded {
  Json options;
  std::string source;  ///< what messages call the run
  std::string folder;  ///< in which it was started; empty: not known
};

/// The text of an option that is a path, for use from here. Throws InputError where data are gone.
std::string path_from_here(const std::string& name, const std::string& path,
                           const Recorded& recorded) {
  if (name == "data" && path == TrainConfig().data.path) return path;  // drawn
  const std::string found = recorded_path(path, recorded.folder);
  std::error_code none;
  if (!train_option(name).uses.path_must_exist || fs::exists(found, none)) return found;
  const std::string said =
      fmt::format("{}: that run recorded --{} {}", recorded.source, name, printable(path));
  const std::string remedy = fmt::format(": give --{}", name);
  if (fs::path(path).is_absolute())
    throw InputError(said + ", and nothing is there any more" + remedy);
  if (recorded.folder.empty()) return found;  // an older version
  throw InputError(fmt::format("{}, below {}, and it is neither there nor here, below {}{}", said,
                               printable(recorded.folder), printable(working_directory()), remedy));
}

/// Gives open options their recorded values.
void apply_recorded(CLI::App& command, const TrainConfig& config, const Recorded& recorded) {
  const Json& options = recorded.options;
  for (const TrainOption& option : train_options()) {
    const auto value = options.find(option.name);
    CLI::Option* open = command.get_option_no_throw(name_of(option));
    if (option.resume == Resume::own || value == options.end() || value->is_null()) continue;
    if (open == nullptr || is_idle(options, option.name) || is_written(option, config)) continue;
    std::string text = value->dump();
    if (value->is_string()) text = value->get<std::string>();
    const auto path = path_begin(option, text);
    // What is given anew may be there instead.
    if (path && value->is_string() && open->count() == 0)
      text.replace(*path, text.npos, path_from_here(option.name, text.substr(*path), recorded));
    set_if_open(*open, text, recorded.source);
  }
}

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

void apply_resumed_options(CLI::App& command, const TrainConfig& config, LoadFor purpose) {
  const auto manifest = first_readable(resume_candidates(config, purpose));
  if (!manifest) return;
  const Json options = Json::parse(manifest->config);
  refuse_removed(command, options, resume_words(config, purpose));
  for (const TrainOption& option : train_options()) {
    const bool by_word = std::holds_alternative<std::string>(value_of(option, config));
    if (option.uses.word_is_measured && by_word) command.get_option(name_of(option))->clear();
  }
  apply_recorded(command, config, {options, resume_words(config, purpose), manifest->folder});
}

std::optional<std::string> take_kept_weights(CLI::App& command, const TrainConfig& config,
                                             const std::string& run_directory) {
  const fs::path weights = fs::path(run_directory) / kFinalWeightsName;
  const fs::path record = fs::path(run_directory) / kRunJsonName;
  std::error_code none;
  if (!fs::exists(weights, none) || !fs::exists(record, none) ||
      !list_checkpoints(fs::path(run_directory) / kCheckpointsName).empty())
    return std::nullopt;
  const InputFile file{record, "--init-weights " + run_directory + ": run.json",
                       "give the weights file itself, and --model"};
  const Json run = parse_json(read_text(file, kMostJsonBytes), file);
  file.require(run.contains("config") && run["config"].is_object(), "it has no options of a run");
  const Json folder = run.value(kWorkingDirectory, Json());
  apply_recorded(command, config,
                 {recorded_options(run["config"]), "--init-weights " + run_directory,
                  folder.is_string() ? folder.get<std::string>() : std::string()});
  return weights.string();
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
    validate(*shared);
    if (*prints)
      request = PrintText{recipe_of(*shared)};
    else
      request = *shared;
  });
  const auto recipe = std::make_shared<std::string>();
  add_text(command, "--config", *recipe, "FILE",
           "TOML recipe of lines  option = value, for example  batch-per-rank = 128; the command "
           "line takes precedence [none]")
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
    for (const TrainOption& option : train_options())
      if (command.get_option(name_of(option))->count() > 0) config.given.insert(option.name);
    if (!config.checkpoints.resume.empty())
      apply_resumed_options(command, config, LoadFor::training);
  });
}

}  // namespace rueda
