#include "train/options.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace rueda {
namespace {

OptionValue text_or_null(const std::string& text) {
  if (text.empty()) return {};
  return text;
}

/// "from 1 to 5" where both ends belong to the range; else each end says whether it does.
std::string range_text(const OptionRange& range) {
  std::string before_least = "from ";
  std::string before_most = " to ";
  if (range.without_least || range.without_most) {
    before_least = "at least ";
    before_most = " and at most ";
  }
  if (range.without_least) before_least = "above ";
  if (range.without_most) before_most = " and below ";
  const std::string least = before_least + fmt::format("{}", range.least);
  if (std::isinf(range.most)) return least;
  return least + before_most + fmt::format("{}", range.most);
}

bool is_in(const OptionRange& range, double value) {
  if (range.without_least && value == range.least) return false;
  if (range.without_most && value == range.most) return false;
  return value >= range.least && value <= range.most;
}

bool is_control(char c) { return (c >= 0 && c < ' ') || c == 0x7f; }

template <typename Number>
void require_range(const TrainOption& option, const OptionRange& range, Number value) {
  if (is_in(range, double(value))) return;
  std::string wanted = "number " + range_text(range);
  if (std::is_integral_v<Number>) wanted = "whole " + wanted;
  if (*range.hint != '\0') wanted += std::string("; ") + range.hint;
  throw InputError(fmt::format("--{} is {}: give a {}", option.name, value, wanted));
}

/// A wrong bit in what a rank computes, which may come again; the other faults come once.
bool is_flip(InjectedFault::Kind kind) { return kind >= InjectedFault::Kind::flip_activation; }

}  // namespace

CheckpointEvery parse_every(const std::string& text) {
  using Unit = CheckpointEvery::Unit;
  std::string_view unit = text;
  const std::size_t count = take_number(unit).value_or(0);
  if (count > 0 && (unit == "step" || unit == "steps")) return {count, Unit::steps};
  if (count > 0 && (unit == "epoch" || unit == "epochs")) return {count, Unit::epochs};
  throw InputError("'" + printable(text) +
                   "': give a number and its unit, for example 1epoch, 5epochs or 50steps");
}

namespace {

double finite_number(const std::string& text) {
  std::string_view rest = text;
  const auto number = take_number<double>(rest);
  require(number && rest.empty() && std::isfinite(*number),
          "'" + printable(text) + "' is no number");
  return *number;
}

/// Numbers above 0 with `separator` between them, for example 3,1.
std::vector<double> positive_numbers(const std::string& text, char separator) {
  std::vector<double> numbers;
  for (const std::string& word : split_words(text, separator)) {
    std::string_view rest = word;
    const auto number = take_number<double>(rest);
    require(number && rest.empty() && *number > 0 && std::isfinite(*number),
            fmt::format("'{}': give numbers above 0 with {} between them, one for each rank, for "
                        "example 3{}1",
                        printable(text), separator == ':' ? "colons" : "commas", separator));
    numbers.push_back(*number);
  }
  return numbers;
}

void set_compute_part(ComputeConfig& compute, const std::string& name, const std::string& value) {
  if (name == "ms") {
    compute.ms = finite_number(value);
    require(
        *compute.ms > 0 && *compute.ms <= 1e6,
        "ms=" + value + ": give the milliseconds of a micro-batch, above 0 and at most 1000000");
  } else if (name == "jitter") {
    compute.jitter = finite_number(value);
    require(
        compute.jitter >= 0 && compute.jitter < 100,
        "jitter=" + value + ": give per cent of a micro-batch's time, at least 0 and below 100");
  } else if (name == "factors") {
    compute.factors = positive_numbers(value, ':');
  } else {
    throw InputError("'" + printable(name) +
                     "' is not known: give ms, jitter, factors or from, for example "
                     "ms=40,jitter=50,factors=1:2");
  }
}

}  // namespace

ComputeConfig parse_compute(const std::string& text) {
  std::string_view rest = text;
  if (take_number<double>(rest) && rest.empty()) return parse_compute("ms=" + text);
  ComputeConfig compute;
  rest = text;
  do {
    if (take(rest, kComputeFrom)) {
      require(!rest.empty(), "from= has no path: name the run.json of a run");
      compute.from = rest;
      return compute;
    }
    const std::string_view part = rest.substr(0, rest.find(','));
    const std::size_t equals = part.find('=');
    require(equals != part.npos, "'" + printable(std::string(part)) +
                                     "': give NAME=VALUE, for example ms=40,factors=1:2");
    set_compute_part(compute, std::string(part.substr(0, equals)),
                     std::string(part.substr(equals + 1)));
    rest.remove_prefix(part.size());
  } while (take(rest, ","));
  return compute;
}

Balance parse_balance(const std::string& text) {
  if (text == "equal") return {};
  if (text == "speed") return {.by_speed = true};
  try {
    return {.parts = positive_numbers(text, ',')};
  } catch (const InputError& error) {
    throw InputError(std::string(error.what()) + ", or the word equal or speed");
  }
}

InjectedFault parse_fault(const std::string& text) {
  constexpr auto words = words_of(InjectedFault::Kind::none);
  for (std::size_t kind = 1; kind < words.size(); ++kind) {
    std::string_view rest = text;
    if (!take(rest, words[kind]) || !take(rest, ":")) continue;
    const auto rank = take_number<int>(rest);
    if (!rank || !take(rest, ":")) continue;
    const auto step = take_number(rest);
    const auto fault = static_cast<InjectedFault::Kind>(kind);
    const bool permanent = is_flip(fault) && take(rest, "+");
    if (step && rest.empty()) return {fault, *rank, *step, permanent};
  }
  throw InputError("'" + printable(text) +
                   "': give KIND:RANK:STEP, for example nan:0:3, with one of " + fault_kinds() +
                   "; a + behind the STEP makes a flip of arithmetic permanent");
}

std::optional<std::size_t> path_begin(const TrainOption& option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  if (std::holds_alternative<Text>(option.kind)) return 0;
  const auto* formed = std::get_if<Formed>(&option.kind);
  if (formed == nullptr || *formed->path_word == '\0') return std::nullopt;
  const std::string_view word = formed->path_word;
  if (text.starts_with(word)) return word.size();
  const std::size_t at = text.find("," + std::string(word));
  if (at == text.npos) return std::nullopt;
  return at + 1 + word.size();
}

namespace {

/// Of a number or a flag.
template <typename Plain>
OptionValue value_in(const TrainConfig& config, const Plain& plain) {
  return plain.place.in(config);
}

OptionValue value_in(const TrainConfig& config, const NumberIn<std::optional<double>>& n) {
  const std::optional<double>& number = n.place.in(config);
  if (!number) return {};
  return *number;
}

OptionValue value_in(const TrainConfig& config, const Text& t) {
  const std::string& text = t.place.in(config);
  if (t.null_if_empty) return text_or_null(text);
  return text;
}

template <typename Number>
OptionValue value_in(const TrainConfig& config, const NumberOrWord<Number>& n) {
  if (n.place.in(config) == n.meaning) return std::string(n.word);
  return n.place.in(config);
}

OptionValue value_in(const TrainConfig& config, const Words& w) {
  return std::string(w.words.at(w.get(config)));
}

OptionValue value_in(const TrainConfig& config, const Formed& f) {
  return text_or_null(f.get(config));
}

}  // namespace

OptionValue value_of(const TrainOption& option, const TrainConfig& config) {
  return std::visit([&](const auto& kind) { return value_in(config, kind); }, option.kind);
}

namespace {

std::string text_of(std::monostate) { return {}; }
std::string text_of(const std::string& text) { return text; }
template <typename Plain>
std::string text_of(const Plain& plain) {
  return fmt::format("{}", plain);
}

template <typename Number>
void set_in(TrainConfig& config, const NumberIn<Number>& n, const std::string& text) {
  n.place.of(config) = parse_number<Number>(text);
}

void set_in(TrainConfig& config, const NumberIn<std::optional<double>>& n,
            const std::string& text) {
  n.place.of(config) = parse_number<double>(text);
}

/// A zero would end a path for the system, a line end forge lines of output.
void set_in(TrainConfig& config, const Text& t, const std::string& text) {
  require(std::ranges::none_of(text, is_control),
          "'" + printable(text) + "' has control characters: give a plain text");
  t.place.of(config) = text;
}

template <typename Number>
void set_in(TrainConfig& config, const NumberOrWord<Number>& n, const std::string& text) {
  if (text == n.word) {
    n.place.of(config) = n.meaning;
    return;
  }
  n.place.of(config) = parse_number<Number>(text);
  require(n.place.of(config) != n.meaning,
          "'" + printable(text) + "' is out of range; the word for it is " + n.word);
}

void set_in(TrainConfig& config, const Flag& f, const std::string& text) {
  f.place.of(config) = parse_word({"false", "true"}, text) == 1;
}

void set_in(TrainConfig& config, const Words& w, const std::string& text) {
  w.set(config, parse_word(w.words, text));
}

void set_in(TrainConfig& config, const Formed& f, const std::string& text) { f.set(config, text); }

/// Options that are no numbers have no range.
template <typename Other>
void require_range_in(const TrainConfig&, const TrainOption&, const Other&) {}

template <typename Number>
void require_range_in(const TrainConfig& config, const TrainOption& option,
                      const NumberIn<Number>& n) {
  require_range(option, n.range, n.place.in(config));
}

void require_range_in(const TrainConfig& config, const TrainOption& option,
                      const NumberIn<std::optional<double>>& n) {
  if (const auto& number = n.place.in(config)) require_range(option, n.range, *number);
}

template <typename Number>
void require_range_in(const TrainConfig& config, const TrainOption& option,
                      const NumberOrWord<Number>& n) {
  if (n.place.in(config) != n.meaning) require_range(option, n.range, n.place.in(config));
}

}  // namespace

std::string to_string(const OptionValue& value) {
  return std::visit([](const auto& held) { return text_of(held); }, value);
}

void set_option(const TrainOption& option, TrainConfig& config, const std::string& text) {
  std::visit([&](const auto& kind) { set_in(config, kind, text); }, option.kind);
}

void check_range(const TrainOption& option, const TrainConfig& config) {
  std::visit([&](const auto& kind) { require_range_in(config, option, kind); }, option.kind);
}

}  // namespace rueda
