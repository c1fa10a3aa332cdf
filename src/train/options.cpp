#include "train/options.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace rueda {
namespace {

OptionValue text_or_null(const std::string& text) {
  return text.empty() ? OptionValue() : OptionValue(text);
}

std::string range_text(const OptionRange& range) {
  const bool open = range.without_least || range.without_most;
  std::string text = range.without_least ? "above " : open ? "at least " : "from ";
  text += fmt::format("{}", range.least);
  if (std::isinf(range.most)) return text;
  text += range.without_most ? " and below " : open ? " and at most " : " to ";
  return text + fmt::format("{}", range.most);
}

bool is_in(const OptionRange& range, double value) {
  const bool high = range.without_least ? value > range.least : value >= range.least;
  return high && (range.without_most ? value < range.most : value <= range.most);
}

bool is_control(char c) { return (c >= 0 && c < ' ') || c == 0x7f; }

template <typename Number>
void require_range(const TrainOption& option, const OptionRange& range, Number value) {
  if (is_in(range, double(value))) return;
  throw InputError(fmt::format("--{} is {}: give a {} {}{}{}", option.name, value,
                               std::is_floating_point_v<Number> ? "number" : "whole number",
                               range_text(range), *range.hint == '\0' ? "" : "; ", range.hint));
}

}  // namespace

template <typename Number>
Number parse_number(const std::string& text) {
  std::string_view rest = text;
  const auto number = take_number<Number>(rest);
  if (number && rest.empty() && std::isfinite(double(*number))) return *number;
  if (std::is_floating_point_v<Number>)
    throw InputError("'" + printable(text) + "' is not a number, for example 0.1 or 1e-4");
  throw InputError("'" + printable(text) + "' is not a whole number in digits, or does not fit");
}

template double parse_number(const std::string&);
template int parse_number(const std::string&);
template std::size_t parse_number(const std::string&);

/// The distance of V. Levenshtein (1966): letters inserted, removed or replaced.
std::size_t edits_between(const std::string& one, const std::string& other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t replaced = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  constexpr std::size_t kLongest = 40;  // the distance takes the product of both lengths
  if (word.size() > kLongest || known.empty()) return "";
  const auto edits = [&](const std::string& one) {
    return one.starts_with(word) ? 0 : edits_between(lowered(word), one);
  };
  const std::string nearest = std::ranges::min(known, {}, edits);
  return edits(nearest) <= 1 + word.size() / 4 ? ": did you mean " + nearest + "?" : "";
}

std::size_t parse_word(const std::vector<const char*>& words, const std::string& word) {
  const auto at = std::find(words.begin(), words.end(), word);
  if (at != words.end()) return std::size_t(at - words.begin());
  const std::string hint = did_you_mean(word, {words.begin(), words.end()});
  throw InputError("'" + printable(word) + "' is not known" + hint +
                   (hint.empty() ? ": give " : " Give ") + joined(words, " or "));
}

CheckpointEvery parse_every(const std::string& text) {
  using Unit = CheckpointEvery::Unit;
  std::string_view unit = text;
  const std::size_t count = take_number(unit).value_or(0);
  if (count > 0 && (unit == "step" || unit == "steps")) return {count, Unit::steps};
  if (count > 0 && (unit == "epoch" || unit == "epochs")) return {count, Unit::epochs};
  throw InputError("'" + printable(text) +
                   "': give a number and its unit, for example 1epoch, 5epochs or 50steps");
}

InjectedFault parse_fault(const std::string& text) {
  constexpr auto words = words_of(InjectedFault::Kind::none);
  for (std::size_t kind = 1; kind < words.size(); ++kind) {
    std::string_view rest = text;
    const bool named = take(rest, words[kind]) && take(rest, ":");
    const auto rank = named ? take_number<int>(rest) : std::nullopt;
    const auto step = take(rest, ":") ? take_number(rest) : std::nullopt;
    if (rank && step && rest.empty()) return {static_cast<InjectedFault::Kind>(kind), *rank, *step};
  }
  throw InputError("'" + printable(text) +
                   "': give KIND:RANK:STEP, for example nan:0:3, with one of " + fault_kinds());
}

OptionValue value_of(const TrainOption& option, const TrainConfig& config) {
  return std::visit(
      Overloaded{
          [&](const auto& n) { return OptionValue(config.*n.member); },  // a number or a flag
          [&](const NumberIn<std::optional<double>>& n) {
            const std::optional<double>& number = config.*n.member;
            return number ? OptionValue(*number) : OptionValue();
          },
          [&](const Text& t) {
            return t.null_if_empty ? text_or_null(config.*t.member) : OptionValue(config.*t.member);
          },
          [&]<typename Number>(const NumberOrWord<Number>& n) {
            return config.*n.member == n.meaning ? OptionValue(n.word)
                                                 : OptionValue(config.*n.member);
          },
          [&](const Words& w) { return OptionValue(w.words.at(w.get(config))); },
          [&](const Formed& f) { return text_or_null(f.get(config)); },
      },
      option.kind);
}

std::string to_string(const OptionValue& value) {
  return std::visit(Overloaded{[](std::monostate) { return std::string(); },
                               [](const std::string& text) { return text; },
                               [](const auto& plain) { return fmt::format("{}", plain); }},
                    value);
}

void set_option(const TrainOption& option, TrainConfig& config, const std::string& text) {
  std::visit(Overloaded{
                 [&]<typename Number>(const NumberIn<Number>& n) {
                   config.*n.member = parse_number<Number>(text);
                 },
                 [&](const NumberIn<std::optional<double>>& n) {
                   config.*n.member = parse_number<double>(text);
                 },
                 [&](const Text& t) {
                   // A zero would end a path for the system, a line end forge lines of output.
                   require(std::ranges::none_of(text, is_control),
                           "'" + printable(text) + "' has control characters: give a plain text");
                   config.*t.member = text;
                 },
                 [&]<typename Number>(const NumberOrWord<Number>& n) {
                   const bool word = text == n.word;
                   config.*n.member = word ? n.meaning : parse_number<Number>(text);
                   require(
                       word || config.*n.member != n.meaning,
                       "'" + printable(text) + "' is out of range; the word for it is " + n.word);
                 },
                 [&](const Flag& f) {
                   config.*f.member = parse_word({"false", "true"}, text) == 1;
                 },
                 [&](const Words& w) { w.set(config, parse_word(w.words, text)); },
                 [&](const Formed& f) { f.set(config, text); },
             },
             option.kind);
}

void check_range(const TrainOption& option, const TrainConfig& config) {
  std::visit(Overloaded{
                 [](const auto&) {},
                 [&]<typename Number>(const NumberIn<Number>& n) {
                   require_range(option, n.range, config.*n.member);
                 },
                 [&](const NumberIn<std::optional<double>>& n) {
                   if (const auto& number = config.*n.member)
                     require_range(option, n.range, *number);
                 },
                 [&]<typename Number>(const NumberOrWord<Number>& n) {
                   if (config.*n.member != n.meaning)
                     require_range(option, n.range, config.*n.member);
                 },
             },
             option.kind);
}

}  // namespace rueda
