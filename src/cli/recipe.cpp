#include "cli/recipe.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <toml++/toml.h>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "base/text_input.hpp"
#include "cli/hints.hpp"
#include "cli/toml_depth.hpp"
#include "train/options.hpp"

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

/// One line of a recipe: the value as the command line would have it.
struct Item {
  std::string name;
  std::string value;
  std::size_t line = 0;
};

class RecipeReader {
 public:
  RecipeReader(CLI::App& command, const std::string& file) : command_(command), file_(file) {}

  /// In the order of the lines, so that the first fault is reported.
  void apply() {
    constexpr std::size_t kMostBytes = 1'000'000, kMostLevels = 32;
    const InputFile input{file_, "--config " + file_, "give an existing TOML file"};
    text_ = read_text(input, kMostBytes);
    if (const std::size_t line = line_nested_deeper(text_, kMostLevels); line > 0)
      throw InputError(fmt::format("{}: it nests more than {} levels; a recipe is flat",
                                   place(line), kMostLevels));
    try {
      add_items(toml::parse(std::string_view(text_)), true);
    } catch (const toml::parse_error& error) {
      input.require_kind();
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

}  // namespace

void set_if_open(CLI::Option& option, const std::string& value, const std::string& source) {
  if (option.count() > 0 || is_excluded(option)) return;
  try {
    set(option, value);
  } catch (const std::runtime_error& error) {  // CLI::Error, InputError
    throw InputError(source + ": " + error.what());
  }
}

void apply_recipe(CLI::App& command, const std::string& file) {
  RecipeReader(command, file).apply();
}

std::string recipe_of(const TrainConfig& config) {
  std::string text = "# for rueda train --config FILE, on the same number of ranks\n";
  for (const TrainOption& option : train_options()) {
    const std::string name = option.name;
    const bool idle = name == (config.batch.global == 0 ? "global-batch" : "batch-per-rank");
    if (idle || name == "run-dir" || name == "resume") continue;
    const auto add = [&]<typename Value>(const Value& value) {
      if constexpr (!std::is_same_v<Value, std::monostate>) {
        nlohmann::ordered_json j = value;
        if (j.is_number_unsigned() && j.get<std::uint64_t>() > INT64_MAX)
          j = j.dump();  // TOML has no such number
        text += name + " = " +
                j.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
      }
    };
    std::visit(add, value_of(option, config));
  }
  return text;
}

}  // namespace rueda
