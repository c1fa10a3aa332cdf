#include "recipe.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include "rueda/core/error.hpp"
#include "rueda/core/files.hpp"
#include "rueda/core/text.hpp"

namespace rueda {
namespace {

using Items = std::vector<CLI::ConfigItem>;

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// The line up to its comment; a # inside quotes is part of the value.
std::string_view without_comment(std::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == 0 && c == '#') return line.substr(0, i);
    if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    }
  }
  return line;
}

/// Why `value` is not a TOML string, number or boolean; empty if it may be one.
std::string fault_of_value(std::string_view value) {
  if (value.empty()) return "the value is missing";
  const char first = value.front();
  if (first == '[' || first == '{') return "a list is not a value of any option";
  if (first == '"' || first == '\'') {
    const bool closed = value.size() > 1 && value.find(first, 1) == value.size() - 1;
    return closed ? "" : "the quotes are not closed at the end of the value";
  }
  const bool plain = value == "true" || value == "false" ||
                     value.find_first_not_of("0123456789.+-eE") == value.npos;
  return plain ? "" : "text needs quotes";
}

bool may_name_an_option(char c) {
  return c == '-' || c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
}

std::string fault_of_line(std::string_view line, const std::string& section) {
  if (line.front() == '[') {
    if (line == "[" + section + "]") return {};
    return "the only section is [" + section + "]";
  }
  const auto equals = line.find('=');
  if (equals == line.npos) return "this is not of the form  option = value";
  const std::string_view key = trimmed(line.substr(0, equals));
  if (key.empty() || !std::all_of(key.begin(), key.end(), may_name_an_option))
    return "this is not an option's name";
  return fault_of_value(trimmed(line.substr(equals + 1)));
}

/// The recipe without comments, every line checked. CLI11's reader skips or mends what it does not
/// understand, and cuts quoted text at a #; a recipe with a slip must not train something else.
std::string checked_text(const std::string& file, const std::string& section) {
  constexpr std::size_t kMostBytes = 1'000'000;
  std::istringstream in(
      read_whole({file, "--config " + file, "give an existing TOML file"}, kMostBytes));
  std::string text;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const std::string_view content = trimmed(without_comment(line));
    if (content.empty()) continue;
    if (const std::string fault = fault_of_line(content, section); !fault.empty())
      throw InputError("--config " + file + ", line " + std::to_string(number) + ": " + fault +
                       ": " + printable(content));
    text += std::string(content) + '\n';
  }
  return text;
}

/// Key and values; the marks by which CLI11 opens and closes a section are left out.
Items read_items(const std::string& text) {
  CLI::ConfigTOML reader;
  reader.comment('\0');  // they are gone; what looks like one is inside quotes
  std::istringstream in(text);
  Items items = reader.from_config(in);
  std::erase_if(items, [](const auto& item) { return item.name == "++" || item.name == "--"; });
  return items;
}

/// Names the source of a value in every complaint about it.
void set_option(CLI::Option& option, const std::string& value, const std::string& source) {
  try {
    if (option.get_expected_min() == 0) {
      if (value != "true" && value != "false")
        throw InputError("'" + option.get_lnames().front() + "' is either true or false");
      option.add_result(option.get_flag_value(option.get_lnames().front(), value));
    } else {
      option.add_result(value);
    }
    option.run_callback();
  } catch (const CLI::Error& error) {
    throw InputError(source + ": " + error.what());
  } catch (const InputError& error) {
    throw InputError(source + ": " + error.what());
  }
}

CLI::Option& option_of(CLI::App& command, const CLI::ConfigItem& item, const std::string& file) {
  CLI::Option* option = command.get_option_no_throw("--" + item.name);
  if (option != nullptr && option->get_configurable()) return *option;
  throw InputError("--config " + file + ": '" + printable(item.name) +
                   "' is not an option of rueda " + command.get_name() + " that a recipe may set");
}

bool excluded_by_a_given_one(const CLI::Option& option) {
  const auto others = option.get_excludes();
  return std::any_of(others.begin(), others.end(), [](const auto* o) { return o->count() > 0; });
}

void refuse_contradictions(const Items& items, CLI::App& command, const std::string& file) {
  std::set<std::string> seen;
  for (const auto& item : items) {
    const CLI::Option& option = option_of(command, item, file);
    if (!seen.insert(item.name).second || item.inputs.size() != 1)
      throw InputError("--config " + file + ": '" + printable(item.name) + "' is given twice");
    for (const auto* other : option.get_excludes())
      if (seen.count(other->get_lnames().front()) > 0)
        throw InputError("--config " + file + ": '" + printable(item.name) + "' and '" +
                         other->get_lnames().front() + "' exclude each other: give one of them");
  }
}

}  // namespace

void apply_recipe(CLI::App& command, const std::string& file) {
  const Items items = read_items(checked_text(file, command.get_name()));
  refuse_contradictions(items, command, file);
  for (const auto& item : items) {
    set_if_open(option_of(command, item, file), item.inputs.front(), "--config " + file);
  }
}

void set_if_open(CLI::Option& option, const std::string& value, const std::string& source) {
  if (option.count() == 0 && !excluded_by_a_given_one(option)) set_option(option, value, source);
}

}  // namespace rueda
