#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <ranges>

#include <fmt/ranges.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "predict/predict.hpp"

namespace rueda::predict {
namespace {

using Units = std::map<std::string, double>;
constexpr std::size_t kMostRanks = 16'384;

[[noreturn]] void refuse(const std::string& option, const std::string& text,
                         const std::string& remedy) {
  throw InputError(option + " '" + printable(text) + "': " + remedy);
}

/// A number from 0 on, times what the unit after it stands for.
std::optional<double> amount(const std::string& text, const Units& units) {
  std::string_view unit = text;
  const auto number = take_number<double>(unit);
  if (!number || !std::isfinite(*number) || *number < 0) return std::nullopt;
  take(unit, " ");
  const auto found = units.find(std::string(unit));
  if (found == units.end()) return std::nullopt;
  return *number * found->second;
}

/// 0 where it is no number of ranks.
std::size_t rank_count(std::string_view word) {
  const std::size_t number = take_number(word).value_or(0);
  if (!word.empty() || number > kMostRanks) return 0;
  return number;
}

/// Appends what stands for "..." between `ranks` and `last`.
void continue_to(std::vector<std::size_t>& ranks, std::size_t last) {
  const std::size_t n = ranks.size();
  const bool grows = ranks[n - 1] % ranks[n - 2] == 0 &&
                     (n < 3 || ranks[n - 1] * ranks[n - 3] == ranks[n - 2] * ranks[n - 2]);
  std::size_t factor = 1, difference = 0;
  if (grows)
    factor = ranks[n - 1] / ranks[n - 2];
  else
    difference = ranks[n - 1] - ranks[n - 2];
  std::size_t next = ranks.back() * factor + difference;
  for (; next < last; next = next * factor + difference) ranks.push_back(next);
}

enum class Kind { rate, time, factor, alone };

struct Word {
  const char* name;
  Kind kind;
  void (*apply)(CostModel& model, const Change& change);
};

/// The rate is one over the seconds of a byte.
void change_rate(double& seconds_per_byte, const Change& change) {
  if (change.is_factor)
    seconds_per_byte /= change.value;
  else
    seconds_per_byte = 1 / change.value;
}

void change_time(double& seconds, const Change& change) {
  if (change.is_factor)
    seconds *= change.value;
  else
    seconds = change.value;
}

void change_bandwidth(CostModel& m, const Change& c) { change_rate(m.machine.between.beta, c); }
void change_latency(CostModel& m, const Change& c) { change_time(m.machine.between.alpha, c); }
void change_inside_bandwidth(CostModel& m, const Change& c) {
  change_rate(m.machine.inside.beta, c);
}
void change_inside_latency(CostModel& m, const Change& c) {
  change_time(m.machine.inside.alpha, c);
}
void change_add_rate(CostModel& m, const Change& c) { change_rate(m.machine.gamma, c); }
void change_compute_time(CostModel& m, const Change& c) { m.compute.slow_down(c.value); }
void change_noise(CostModel& m, const Change& c) {
  m.noise = m.noise.spread_by(c.value);
  if (m.by_speed) m.by_speed->noise = m.by_speed->noise.spread_by(c.value);
}
void share_by_speed(CostModel& m, const Change&) {
  require(m.by_speed.has_value(),
          "--what-if balance: no run shows how fast each rank is; give one on 2 ranks or more");
  m.shares_by_speed = true;
}

constexpr std::array kWords = {Word{"bandwidth", Kind::rate, change_bandwidth},
                               Word{"latency", Kind::time, change_latency},
                               Word{"inside-bandwidth", Kind::rate, change_inside_bandwidth},
                               Word{"inside-latency", Kind::time, change_inside_latency},
                               Word{"add-rate", Kind::rate, change_add_rate},
                               Word{"compute-time", Kind::factor, change_compute_time},
                               Word{"noise", Kind::factor, change_noise},
                               Word{"balance", Kind::alone, share_by_speed}};

const Word& word_of(const std::string& name, const std::string& part) {
  const auto* word = std::ranges::find(kWords, name, &Word::name);
  if (word != kWords.end()) return *word;
  refuse("--what-if", part,
         fmt::format("give {}: the last one alone, each other one as name=value, for example "
                     "bandwidth=2x or latency=5us",
                     fmt::join(kWords | std::views::transform(&Word::name), ", ")));
}

Change change_of(const std::string& part) {
  const std::size_t equals = part.find('=');
  const Word word = word_of(part.substr(0, equals), part);
  std::string value;
  if (equals != part.npos) value = part.substr(equals + 1);
  const std::string option = std::string("--what-if ") + word.name;
  if (word.kind == Kind::alone) {
    if (equals != part.npos) refuse(option, value, "it has no value: leave it out");
    return {word.apply};
  }
  if (const auto factor = amount(value, {{"x", 1}})) {
    if (word.kind == Kind::rate && *factor == 0) refuse(option, "0x", "a rate has to stay above 0");
    return {word.apply, *factor, true};
  }
  if (word.kind == Kind::factor) refuse(option, value, "give a factor, as 0.5x");
  const auto parse = word.kind == Kind::rate ? parse_rate : parse_seconds;
  return {word.apply, parse(option, value), false};
}

}  // namespace

double parse_seconds(const std::string& option, const std::string& text) {
  const auto value = amount(text, {{"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}});
  if (!value) refuse(option, text, "give a time with its unit, as 5us, 544ms or 1.5s");
  return *value;
}

double parse_rate(const std::string& option, const std::string& text) {
  static const Units kUnits = {{"B/s", 1.0},        {"kB/s", 1e3},       {"MB/s", 1e6},
                               {"GB/s", 1e9},       {"TB/s", 1e12},      {"kbit/s", 1e3 / 8},
                               {"Mbit/s", 1e6 / 8}, {"Gbit/s", 1e9 / 8}, {"Tbit/s", 1e12 / 8}};
  const auto value = amount(text, kUnits);
  if (!value || !(*value > 0))
    refuse(option, text, "give a rate above 0 with its unit, as 10GB/s, 118MB/s or 1Gbit/s");
  return *value;
}

double parse_share(const std::string& option, const std::string& text) {
  const auto value = amount(text, {{"", 1.0}, {"%", 0.01}});
  if (!value) refuse(option, text, "give a share, as 20% or 0.2");
  return *value;
}

std::vector<std::size_t> parse_rank_list(const std::string& option, const std::string& text) {
  std::vector<std::size_t> ranks;
  bool goes_on = false;
  bool valid = true;
  std::size_t last = 0;
  for (const std::string& word : split_words(text)) {
    if (word == "...") {
      valid = valid && ranks.size() >= 2 && !goes_on;
      goes_on = true;
      continue;
    }
    const std::size_t count = rank_count(word);
    valid = valid && count > last;
    if (!valid) break;
    if (std::exchange(goes_on, false)) continue_to(ranks, count);
    ranks.push_back(count);
    last = count;
  }
  if (valid && !goes_on && !ranks.empty()) return ranks;
  refuse(option, text,
         "give numbers of ranks from 1 to 16384 in ascending order, as 1,2,4 or 1,2,4,...,64");
}

std::vector<Change> parse_changes(const std::string& text) {
  if (text.empty()) return {};
  return values_of(split_words(text), change_of);
}

}  // namespace rueda::predict
