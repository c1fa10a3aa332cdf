#include "display/text.hpp"

#include <algorithm>
#include <array>
#include <clocale>
#include <cmath>
#include <cwchar>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace rueda {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kLeastLastColumn = 12;

std::string padded(const std::string& cell, std::size_t width, Align align) {
  const std::size_t columns = columns_of(cell);
  if (columns >= width) return cell;
  const std::string blanks(width - columns, ' ');
  if (align == Align::left) return cell + blanks;
  return blanks + cell;
}

/// This thread's letters are those of UTF-8 while it lives, whatever the user's locale is, where
/// the C library has such a locale.
class Utf8Letters {
 public:
  Utf8Letters() : before_(uselocale(utf8())) {}
  ~Utf8Letters() { uselocale(before_); }
  Utf8Letters(const Utf8Letters&) = delete;
  Utf8Letters& operator=(const Utf8Letters&) = delete;

  /// Takes a character from the front of `text`; returns its columns.
  static std::size_t take_columns(std::string_view& text) {
    const auto code = take_code_point(text);
    if (!code) text.remove_prefix(1);
    if (!code || utf8() == locale_t{}) return 1;
    const int columns = wcwidth(wchar_t(*code));
    return columns < 0 ? 1 : std::size_t(columns);  // of a letter newer than the library
  }

 private:
  static locale_t utf8() {
    static const locale_t found = newlocale(LC_CTYPE_MASK, "C.UTF-8", locale_t{});
    return found;
  }

  locale_t before_;
};

/// The front of `text` in at most `width` columns.
std::string_view front_of(std::string_view text, std::size_t width) {
  const Utf8Letters letters;
  std::string_view rest = text;
  std::size_t columns = 0, bytes = 0;
  while (!rest.empty()) {
    columns += Utf8Letters::take_columns(rest);
    if (columns > width) break;
    bytes = text.size() - rest.size();
  }
  return text.substr(0, bytes);
}

std::string shortened(const std::string& cell, std::size_t width) {
  if (columns_of(cell) <= width) return cell;
  return std::string(front_of(cell, width - 3)) + "...";
}

std::string without_trailing_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

/// Decimals that leave three significant digits, `least` of them at least.
int decimals_for(double value, int least) {
  if (!std::isfinite(value) || value == 0) return least;
  const int leading = int(std::floor(std::log10(std::abs(value))));
  return std::clamp(2 - leading, least, 12);
}

/// With the file that says so.
void add_limit(std::string& text, const std::string& what, const GroupLimit& limit) {
  add_to_list(text, what + " (" + printable(limit.source) + ")");
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  if (std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; })) return text.size();
  const Utf8Letters letters;
  std::size_t columns = 0;
  while (!text.empty()) columns += Utf8Letters::take_columns(text);
  return columns;
}

TextTable::TextTable(std::vector<Align> columns, std::size_t indent)
    : columns_(std::move(columns)), indent_(indent) {}

void TextTable::add(Texts cells) {
  if (cells.size() != columns_.size()) throw std::invalid_argument("TextTable: wrong cell count");
  for (std::string& cell : cells) cell = one_line(cell);
  rows_.push_back(std::move(cells));
}

TextTable number_table(Texts headings) {
  std::vector<Align> columns(headings.size(), Align::right);
  columns.front() = Align::left;
  TextTable table(columns, 2);
  table.add(std::move(headings));
  return table;
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_)
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], columns_of(row[c]));
  std::size_t before = indent_;
  for (std::size_t c = 0; c + 1 < widths.size(); ++c) before += widths[c] + kGap;
  const std::size_t room = std::max(kPageColumns, before) - before;
  widths.back() = std::min(widths.back(), std::max(room, kLeastLastColumn));
  return widths;
}

std::string TextTable::text() const {
  const std::vector<std::size_t> width = widths();
  std::string text;
  for (const auto& row : rows_) {
    std::string line(indent_, ' ');
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c > 0) line.append(kGap, ' ');
      line += padded(shortened(row[c], width[c]), width[c], columns_[c]);
    }
    text += without_trailing_blanks(line) + "\n";
  }
  return text;
}

std::string paragraph(const std::string& label, std::size_t indent, const std::string& text,
                      std::size_t columns) {
  std::string result;
  std::string line = padded(label, indent, Align::left);
  bool fresh = true;
  std::istringstream words(text);
  for (std::string word; words >> word; fresh = false) {
    if (!fresh && columns_of(line) + 1 + columns_of(word) > columns) {
      result += line + "\n";
      line.assign(indent, ' ');
      fresh = true;
    }
    if (!fresh) line += ' ';
    line += word;
  }
  return result + without_trailing_blanks(line) + "\n";
}

std::string seconds_text(double seconds) {
  return fmt::format("{:.{}f}", seconds, decimals_for(seconds, 3));
}

std::string rate_text(double per_second) {
  return fmt::format("{:.{}f}", per_second, decimals_for(per_second, 0));
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<long long>(std::ceil(std::min(seconds, 1e15)));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string metric_text(double value) {
  if (value != 0 && std::abs(value) < 1e-3) return fmt::format("{:.4e}", value);
  return fmt::format("{:.4f}", value);
}

std::string bytes_text(double bytes) {
  constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < kUnits.size(); ++unit) bytes /= 1000;
  if (unit == 0) return fmt::format("{:.0f} B", bytes);
  return fmt::format("{} {}", rate_text(bytes), kUnits[unit]);
}

std::string setting_text(double value) { return fmt::format("{}", value); }

void add_to_list(std::string& list, const std::string& word, const char* separator) {
  if (!list.empty()) list += separator;
  list += word;
}

std::string ranges_text(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t first = i;
    while (i + 1 < numbers.size() && numbers[i + 1] == numbers[i] + 1) ++i;
    add_to_list(text, std::to_string(numbers[first]), ",");
    if (i > first) text += "-" + std::to_string(numbers[i]);
  }
  return text;
}

std::string limits_text(const GroupLimits& limits, int online) {
  std::string text;
  if (limits.memory.value > 0)
    add_limit(text, bytes_text(limits.memory.value) + " of memory", limits.memory);
  if (limits.process.value > 0)
    add_limit(text, bytes_text(limits.process.value) + " of memory in a process", limits.process);
  const double quota = limits.quota.value;
  if (quota > 0)
    add_limit(text, fmt::format("time of {:.3g} {}", quota, plural(quota, "core")), limits.quota);
  const double processors = limits.processors.value;
  if (processors > 0 && processors < online)
    add_limit(text, fmt::format("{} of {} processors", processors, online), limits.processors);
  return text;
}

std::string short_host(const std::string& name, std::size_t width) {
  if (name.size() <= width) return name;
  const std::size_t end = (width - 2) / 2;
  return name.substr(0, end) + ".." + name.substr(name.size() - end);
}

}  // namespace rueda
