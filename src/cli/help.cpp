#include "cli/help.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"
#include "display/run_text.hpp"
#include "display/text.hpp"
#include "train/options.hpp"

namespace rueda {
namespace {

/// What the short help has besides options of the table.
constexpr std::array<std::string_view, 3> kCommandsOwn = {"help", "help-all", "config"};

constexpr const char* kHelpAll = "--help-all";

/// The topic of `--help` that has no options: the words at the end of a run.
constexpr const char* kResultTopic = "result";

class HelpFormatter final : public CLI::Formatter {
  std::string make_option(const CLI::Option* option, bool positional) const override {
    std::string text = option->get_description();
    if (option->get_required())
      text += " [required]";
    else if (option->get_configurable() && !positional && !text.ends_with(']'))
      text += option->get_expected_max() == 0 ? " [off]" : " [none]";
    return row(make_option_name(option, positional) + make_option_opts(option), text);
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return row(command->get_name(), command->get_description());
  }
  static std::string row(const std::string& name, const std::string& text) {
    constexpr std::size_t kColumn = 26;
    const auto width = Terminal::of_stdout().width();
    const std::string label = "  " + name;
    if (label.size() + 2 <= kColumn) return paragraph(label, kColumn, text, width);
    return lines_of(label, width) + '\n' + paragraph("", kColumn, text, width);
  }
  /// The words of an option, of which a line holds as many as fit.
  static std::string lines_of(const std::string& label, std::size_t width) {
    const std::size_t bar = label.rfind('|', width - 1);
    if (label.size() <= width || bar == label.npos) return label;
    return label.substr(0, bar + 1) + '\n' + lines_of("      " + label.substr(bar + 1), width);
  }
};

/// The word that asks for the options below a heading: its first one.
std::string topic_of(const std::string& heading) {
  return lowered(heading.substr(0, heading.find(' ')));
}

std::vector<std::string> topics() {
  std::vector<std::string> found;
  for (const TrainOption& option : train_options()) {
    const std::string topic = topic_of(option.group);
    if (std::ranges::count(found, topic) == 0) found.push_back(topic);
  }
  found.emplace_back(kResultTopic);
  return found;
}

/// The word after --help; empty where there is none.
std::string asked_topic(const std::vector<std::string>& arguments) {
  constexpr std::array<std::string_view, 2> kHelp = {"--help", "-h"};
  const auto help = std::ranges::find_first_of(arguments, kHelp);
  const bool last = help == arguments.end() || help + 1 == arguments.end();
  if (last || (help + 1)->starts_with('-')) return "";
  return *(help + 1);
}

/// Hides the options that are not of the topic. CLI11 hides those of no group.
void show_topic(CLI::App& train, const std::string& topic) {
  bool found = false;
  for (CLI::Option* option : train.get_options()) {
    const bool shown = topic_of(option->get_group()) == topic || option->check_lname(topic);
    if (!shown) option->group("");
    found = found || shown;
  }
  if (!found)
    throw InputError("--help " + printable(topic) + ": this is neither an option nor one of " +
                     joined(topics(), ", ") + did_you_mean(topic, topics()));
}

void show_first(CLI::App& train) {
  const auto is_first = [](const std::string& name) {
    if (std::ranges::count(kCommandsOwn, name) > 0) return true;
    const auto named = [&name](const TrainOption& option) { return option.name == name; };
    const auto found = std::ranges::find_if(train_options(), named);
    return found != train_options().end() && found->uses.first;
  };
  for (CLI::Option* option : train.get_options())
    option->group(is_first(option->get_lnames().front()) ? "Options" : "");
}

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<HelpFormatter>(); }

void add_help_topics(CLI::App& train) {
  train
      .set_help_flag("-h,--help",
                     "Prints what most runs need, or one option, or those of a topic: " +
                         joined(topics(), ", "))
      ->option_text("[TOPIC]");
  train.set_help_all_flag(kHelpAll, "Prints every option");
}

std::string help_text(CLI::App& app, const std::vector<std::string>& arguments) {
  const bool all = std::ranges::count(arguments, kHelpAll) > 0;
  if (app.got_subcommand("train") && !all) {
    CLI::App& train = *app.get_subcommand("train");
    const std::string topic = asked_topic(arguments);
    if (topic == kResultTopic) return result_terms();
    if (topic.empty())
      show_first(train);
    else
      show_topic(train, topic);
  }
  return app.help();
}

}  // namespace rueda
