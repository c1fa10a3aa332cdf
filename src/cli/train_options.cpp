#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <toml++/toml.h>

#include "core/bounded_json.hpp"
#include "core/text_input.hpp"
#include "core/toml_depth.hpp"
#include "help.hpp"
#include "hints.hpp"
#include "options.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/files.hpp"
#include "rueda/core/text.hpp"
#include "rueda/record/run_json.hpp"
#include "run/resume_point.hpp"

namespace rueda {
namespace {

void set(CLI::Option& option, const std::string& value) {
  if (option.get_expected_min() > 0) {
    option.add_result(value);
  } else if (value == "true" || value == "false") {
    option.add_result(option.get_flag_value(option.get_lnames().front(), value));
  } else {
    throw InputError("'" + option.get_lnames().front() + "' is either true or false");
  }
  option.run_callback();
}

bool is_excluded(const CLI::Option& option) {
  return std::ranges::any_of(option.get_excludes(), [](const auto* o) { return o->count() > 0; });
}

/// Gives one option the value of a file, unless it is set already or excluded by one that is.
void set_if_open(CLI::Option& option, const std::string& value, const std::string& source) {
  if (option.count() > 0 || is_excluded(option)) return;
  try {
    set(option, value);
  } catch (const std::runtime_error& error) {  // CLI::Error, InputError
    throw InputError(source + ": " + error.what());
  }
}

/// One line of a recipe: the value as the command line would have it.
struct Item {
  std::string name;
  std::string value;
  std::size_t line = 0;
};

/// Reads a recipe for a command: a TOML file of flat `option = value` lines,
/// optionally below the section [NAME OF THE COMMAND]. Throws InputError naming
/// file and line.
class RecipeReader {
 public:
  RecipeReader(CLI::App& command, const std::string& file) : command_(command), file_(file) {}

  /// In the order of the lines, so that the first fault is reported.
  void apply() {
    constexpr std::size_t kMostBytes = 1'000'000, kMostLevels = 32;
    text_ = read_text({file_, "--config " + file_, "give an existing TOML file"}, kMostBytes);
    if (const std::size_t line = line_nested_deeper(text_, kMostLevels); line > 0)
      throw InputError(fmt::format("{}: it nests more than {} levels; a recipe is flat",
                                   place(line), kMostLevels));
    try {
      add_items(toml::parse(std::string_view(text_)), true);
    } catch (const toml::parse_error& error) {
      refuse(error.source().begin.line, std::string(syntax_fault(error.description())));
    }
    std::ranges::sort(items_, {}, &Item::line);
    refuse_contradictions();
    for (const Item& item : items_) set_if_open(option_of(item), item.value, place(item.line));
  }

 private:
  std::string place(std::size_t line) const {
    return fmt::format("--config {}, line {}", file_, line);
  }

  CLI::Option& option_of(const Item& item) const {
    CLI::Option* option = command_.get_option_no_throw("--" + item.name);
    if (option != nullptr && option->get_configurable() && option->check_lname(item.name))
      return *option;
    if (const std::string removal = removal_of(command_, item.name); !removal.empty())
      throw InputError(place(item.line) + ": " + removal);
    throw InputError(fmt::format("{}: '{}' is not an option of rueda {} that a recipe may set{}",
                                 place(item.line), printable(item.name), command_.get_name(),
                                 hint_for(command_, item.name, item.value)));
  }

  /// The line itself is the user's own text.
  [[noreturn]] void refuse(std::size_t line, const std::string& why) const {
    std::string_view rest = text_;
    for (std::size_t i = 1; i < line; ++i)
      rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
    const std::string_view content = rest.substr(0, rest.find_first_of("\r\n"));
    throw InputError(place(line) + ": " + why + ": " + printable(content));
  }

  /// The parser's own words name bytes of the file; these say what to write instead.
  static std::string_view syntax_fault(std::string_view description) {
    if (description.find("redefine") != description.npos) return "this key is given twice";
    if (description.find("string") != description.npos)
      return "the quotes are not closed on this line";
    if (description.find("range") != description.npos ||
        description.find("representable") != description.npos)
      return "the number does not fit";
    return "this is not of the form  option = value, with text in quotes";
  }

  void add_items(const toml::table& table, bool top) {
    for (const auto& [key, node] : table) {
      const std::size_t line = key.source().begin.line;
      const bool section = node.is_table() && !node.as_table()->is_inline();
      if (section && top && key.str() == command_.get_name()) {
        add_items(*node.as_table(), false);
      } else if (section) {
        refuse(line, "the only section is [" + command_.get_name() + "]");
      } else {
        items_.push_back({std::string(key.str()), text_of(node, line), line});
      }
    }
  }

  std::string text_of(const toml::node& node, std::size_t line) const {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
    if (const auto* whole = node.as_integer()) return fmt::format("{}", whole->get());
    if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
    if (node.is_table() || node.is_array()) refuse(line, "a list is not a value of any option");
    refuse(line, "a date is not a value of any option");
  }

  void refuse_contradictions() const {
    std::map<std::string, std::size_t> lines;
    for (const Item& item : items_) {
      const CLI::Option& option = option_of(item);
      if (!lines.emplace(item.name, item.line).second) refuse(item.line, "this key is given twice");
      for (const auto* other : option.get_excludes()) {
        const std::string name = other->get_lnames().front();
        if (!lines.contains(name)) continue;
        throw InputError(place(item.line) + ": '" + item.name + "' and '" + name +
                         "' exclude each other: give one of them");
      }
    }
  }

  CLI::App& command_;
  const std::string& file_;
  std::string text_;
  std::vector<Item> items_;
};

using Json = nlohmann::ordered_json;

std::string name_of(const TrainOption& option) { return std::string("--") + option.name; }

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
  return text != nullptr && text->written_with != nullptr && config.*text->written_with;
}

/// What RecipeReader reads: each option that has a value, so that defaults of
/// another version change nothing. Not where the run goes, nor where it came from.
std::string recipe_of(const TrainConfig& config) {
  std::string text = "# for rueda train --config FILE, on as many ranks\n";
  for (const TrainOption& option : train_options()) {
    const std::string name = option.name;
    const bool idle = name == (config.global_batch == 0 ? "global-batch" : "batch-per-rank");
    if (idle || name == "run-dir" || name == "resume") continue;
    const auto add = [&]<typename Value>(const Value& value) {
      if constexpr (!std::is_same_v<Value, std::monostate>) {
        Json j = value;
        if (j.is_number_unsigned() && j.get<std::uint64_t>() > INT64_MAX)
          j = j.dump();  // TOML has no such number
        text += name + " = " + j.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
      }
    };
    std::visit(add, value_of(option, config));
  }
  return text;
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
  const std::string shown = present.empty() ? "" : " [" + present + "]";
  return app.add_option_function<std::string>(name, take, description + shown)
      ->option_text(placeholder);
}

void add_option(CLI::App& app, const TrainOption& option, TrainConfig& config) {
  app.option_defaults()->group(option.group);
  if (const auto* flag = std::get_if<Flag>(&option.kind)) {
    app.add_flag(name_of(option), config.*flag->member, option.help);
    return;
  }
  const auto* words = std::get_if<Words>(&option.kind);
  add_parsed(app, name_of(option),
             words != nullptr ? joined(words->words, "|") : option.placeholder, option.help,
             to_string(value_of(option, config)),
             [&](const std::string& text) { set_option(option, config, text); });
}

/// Throws InputError where a resumed run used what was removed since.
void refuse_removed(const CLI::App& command, const Json& options, const std::string& resumed) {
  for (const auto& [name, value] : options.items()) {
    const std::string removal = removal_of(command, "--" + name);
    if (removal.empty() || value.is_null() || value == Json(false)) continue;
    throw InputError(fmt::format(
        "{}: {}. This run used it: finish it with the version that began it, or begin anew",
        resumed, removal));
  }
}

/// Gives open options their values among the `options` of another run, which messages call
/// `source`.
void apply_recorded(CLI::App& command, const TrainConfig& config, const Json& options,
                    const std::string& source) {
  for (const TrainOption& option : train_options()) {
    const auto value = options.find(option.name);
    CLI::Option* open = command.get_option_no_throw(name_of(option));
    if (option.resume == Resume::own || value == options.end() || value->is_null()) continue;
    if (open == nullptr || is_idle(options, option.name) || is_written(option, config)) continue;
    const std::string text = value->is_string() ? value->get<std::string>() : value->dump();
    set_if_open(*open, text, source);
  }
}

void apply_resumed_options(CLI::App& command, const TrainConfig& config) {
  const auto manifest = first_readable(resume_candidates(config));
  if (!manifest) return;
  const Json options = Json::parse(manifest->config);
  refuse_removed(command, options, resume_words(config));
  // Buckets that were chosen stay, whatever a measurement would say now.
  if (config.bucket_mb == kAutoBucketMb) command.get_option("--bucket-mb")->clear();
  apply_recorded(command, config, options, resume_words(config));
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
  apply_recorded(command, config, run["config"], "--init-weights " + run_directory);
  return weights.string();
}

/// Adds all options of the table. What few runs need comes last in the help.
void add_table(CLI::App& command, TrainConfig& config) {
  for (const bool last : {false, true})
    for (const TrainOption& option : train_options())
      if ((option.group == std::string_view(kLastGroup)) == last)
        add_option(command, option, config);
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
    if (!recipe->empty()) RecipeReader(command, *recipe).apply();
    if (!config.resume.empty()) apply_resumed_options(command, config);
    for (const TrainOption& option : train_options())
      if (command.get_option(name_of(option))->count() > 0) config.given.insert(option.name);
  });
}

}  // namespace rueda
