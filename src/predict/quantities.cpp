#include "rueda/predict/quantities.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "rueda/core/error.hpp"
#include "rueda/core/text.hpp"

namespace rueda::predict {
namespace {

using Unit = std::pair<const char*, double>;
constexpr std::size_t kMostRanks = 16'384;

/// A number and one of the units behind it.
std::optional<double> amount(const std::string& text, std::initializer_list<Unit> units) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || !std::isfinite(number) || number < 0) return std::nullopt;
  std::string unit(rest, end);
  if (unit.starts_with(' ')) unit.erase(0, 1);
  for (const auto& [name, factor] : units) {
    if (unit == name) return number * factor;
  }
  return std::nullopt;
}

[[noreturn]] void refuse(const std::string& option, const std::string& text,
                         const std::string& remedy) {
  throw InputError(option + " '" + printable(text) + "': " + remedy);
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::optional<std::size_t> rank_count(const std::string& word) {
  std::size_t number = 0;
  const char* end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc{} || rest != end || number < 1 || number > kMostRanks) return std::nullopt;
  return number;
}

/// What stands for "..." between the numbers before it and `last`.
std::vector<std::size_t> continued(const std::vector<std::size_t>& before, std::size_t last) {
  std::vector<std::size_t> result;
  const std::size_t n = before.size();
  const bool grows = before[n - 1] % before[n - 2] == 0 &&
                     (n < 3 || before[n - 1] * before[n - 3] == before[n - 2] * before[n - 2]);
  const std::size_t factor = before[n - 1] / before[n - 2];
  const std::size_t difference = before[n - 1] - before[n - 2];
  const auto next = [&](std::size_t at) { return grows ? at * factor : at + difference; };
  for (std::size_t at = next(before[n - 1]); at < last; at = next(at)) result.push_back(at);
  return result;
}

}  // namespace

double parse_seconds(const std::string& option, const std::string& text) {
  const auto value = amount(text, {{"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}});
  if (!value) refuse(option, text, "give a time with its unit, as 5us, 544ms or 1.5s");
  return *value;
}

double parse_rate(const std::string& option, const std::string& text) {
  const auto value = amount(text, {{"B/s", 1.0},
                                   {"kB/s", 1e3},
                                   {"MB/s", 1e6},
                                   {"GB/s", 1e9},
                                   {"TB/s", 1e12},
                                   {"kbit/s", 1e3 / 8},
                                   {"Mbit/s", 1e6 / 8},
                                   {"Gbit/s", 1e9 / 8},
                                   {"Tbit/s", 1e12 / 8}});
  if (!value || !(*value > 0)) {
    refuse(option, text, "give a rate above 0 with its unit, as 10GB/s, 118MB/s or 1Gbit/s");
  }
  return *value;
}

double parse_share(const std::string& option, const std::string& text) {
  const auto value = amount(text, {{"", 1.0}, {"%", 0.01}});
  if (!value) refuse(option, text, "give a share, as 20% or 0.2");
  return *value;
}

std::vector<std::size_t> parse_rank_list(const std::string& option, const std::string& text) {
  const std::string remedy =
      "give numbers of ranks from 1 to 16384 in ascending order, as 1,2,4 or 1,2,4,...,64";
  std::vector<std::size_t> ranks;
  bool goes_on = false;
  for (const std::string& word : parts_of(text)) {
    if (word == "...") {
      if (ranks.size() < 2 || goes_on) refuse(option, text, remedy);
      goes_on = true;
      continue;
    }
    const auto count = rank_count(word);
    if (!count || (!ranks.empty() && *count <= ranks.back())) refuse(option, text, remedy);
    if (goes_on) {
      const auto between = continued(ranks, *count);
      ranks.insert(ranks.end(), between.begin(), between.end());
      goes_on = false;
    }
    ranks.push_back(*count);
  }
  if (goes_on) refuse(option, text, remedy);
  return ranks;
}

std::string seconds_with_unit(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

std::string rate_with_unit(double bytes_per_second) {
  if (!std::isfinite(bytes_per_second)) return "unlimited";
  if (bytes_per_second >= 1e9) return fmt::format("{:.4g} GB/s", bytes_per_second * 1e-9);
  return fmt::format("{:.4g} MB/s", bytes_per_second * 1e-6);
}

}  // namespace rueda::predict
