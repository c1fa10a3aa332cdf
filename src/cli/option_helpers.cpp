#include "option_helpers.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <system_error>
#include <type_traits>

namespace rueda {
namespace {

template <typename Number>
bool read_number(const std::string& text, Number& value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end) return false;
  if constexpr (std::is_floating_point_v<Number>) return std::isfinite(value);
  return true;
}

template <typename Number>
std::string refuse_unless_number(const std::string& text) {
  Number ignored{};
  if (read_number(text, ignored)) return {};
  if (std::is_floating_point_v<Number>)
    return "'" + text + "' is not a number, for example 0.1 or 1e-4";
  return "'" + text + "' is not a whole number from 0 that fits";
}

std::string shown(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

std::string with_default(const std::string& description, const std::string& value) {
  return value.empty() ? description : description + " [" + value + "]";
}

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : between) + word;
  return line;
}

}  // namespace

template <typename Number>
CLI::Option* add_number(CLI::App& app, const std::string& name, Number& value,
                        const std::string& placeholder, const std::string& description) {
  std::string present;
  if constexpr (std::is_floating_point_v<Number>)
    present = shown(value);
  else
    present = std::to_string(value);
  auto* option = app.add_option_function<std::string>(
      name, [&value](const std::string& text) { read_number(text, value); },
      with_default(description, present));
  option->check(refuse_unless_number<Number>)->option_text(placeholder);
  return option;
}

template CLI::Option* add_number(CLI::App&, const std::string&, double&, const std::string&,
                                 const std::string&);
template CLI::Option* add_number(CLI::App&, const std::string&, int&, const std::string&,
                                 const std::string&);
template CLI::Option* add_number(CLI::App&, const std::string&, std::uint64_t&, const std::string&,
                                 const std::string&);

CLI::Option* add_number(CLI::App& app, const std::string& name, std::optional<double>& value,
                        const std::string& placeholder, const std::string& description) {
  const auto set = [&value](const std::string& text) { read_number(text, value.emplace()); };
  auto* option = app.add_option_function<std::string>(name, set, description);
  option->check(refuse_unless_number<double>)->option_text(placeholder);
  return option;
}

CLI::Option* add_number_or_word(CLI::App& app, const std::string& name, std::size_t& value,
                                const std::string& placeholder, const std::string& word,
                                std::size_t meaning, const std::string& description) {
  const auto set = [&value, word, meaning](const std::string& text) {
    if (text == word) {
      value = meaning;
    } else {
      read_number(text, value);
    }
  };
  const auto refuse = [word](const std::string& text) -> std::string {
    std::size_t number = 0;
    if (text == word || read_number(text, number)) return {};
    return "'" + text + "' is neither a whole number from 0 that fits nor the word " + word;
  };
  auto* option = app.add_option_function<std::string>(
      name, set, with_default(description, std::to_string(value)));
  option->check(refuse)->option_text(placeholder);
  return option;
}

CLI::Option* add_text(CLI::App& app, const std::string& name, std::string& value,
                      const std::string& placeholder, const std::string& description) {
  return app.add_option(name, value, with_default(description, value))->option_text(placeholder);
}

CLI::Option* add_words(CLI::App& app, const std::string& name,
                       const std::vector<std::string>& words, const std::string& present,
                       const std::string& description,
                       const std::function<void(const std::string&)>& set) {
  auto* option =
      app.add_option_function<std::string>(name, set, with_default(description, present));
  const auto refuse_others = [words](const std::string& word) -> std::string {
    if (std::find(words.begin(), words.end(), word) != words.end()) return {};
    return "'" + word + "' is not known: give " + joined(words, " or ");
  };
  option->check(refuse_others)->option_text(joined(words, "|"));
  return option;
}

}  // namespace rueda
