#include "rueda/display/number_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <spdlog/fmt/fmt.h>

namespace rueda {
namespace {

/// Decimals that leave three significant digits, `least` of them at least.
int decimals_for(double value, int least) {
  if (!std::isfinite(value) || value == 0) return least;
  const int leading = int(std::floor(std::log10(std::abs(value))));
  return std::clamp(2 - leading, least, 12);
}

}  // namespace

std::string seconds_text(double seconds) {
  return fmt::format("{:.{}f}", seconds, decimals_for(seconds, 3));
}

std::string rate_text(double per_second) {
  return fmt::format("{:.{}f}", per_second, decimals_for(per_second, 0));
}

std::string metric_text(double value) {
  const bool tiny = value != 0 && std::abs(value) < 1e-3;
  return tiny ? fmt::format("{:.4e}", value) : fmt::format("{:.4f}", value);
}

std::string count_text(std::size_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string bytes_text(double bytes) {
  constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < kUnits.size(); ++unit) bytes /= 1000;
  return unit == 0 ? fmt::format("{:.0f} B", bytes)
                   : fmt::format("{} {}", rate_text(bytes), kUnits[unit]);
}

std::string setting_text(double value) { return fmt::format("{}", value); }

std::string counted(std::size_t count, const std::string& noun) {
  return count_text(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string ranges_text(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t first = i;
    while (i + 1 < numbers.size() && numbers[i + 1] == numbers[i] + 1) ++i;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[first]);
    if (i > first) text += "-" + std::to_string(numbers[i]);
  }
  return text;
}

}  // namespace rueda
