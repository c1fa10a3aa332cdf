#include "study/check/csv.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/text_input.hpp"

namespace rueda {
namespace {

constexpr std::size_t kMostTableBytes = 4'000'000;
constexpr int kMostExponent = 300;

/// Takes the text apart, cell by cell.
class CsvReader {
 public:
  CsvReader(const InputFile& file, std::string_view text) : file_(file), text_(text) {
    separator_ = separator_of(text.substr(0, text.find_first_of("\r\n")));
  }

  bool at_end() const noexcept { return text_.empty(); }

  CsvRow row() {
    CsvRow row{.line = line_, .cells = {cell()}};
    while (!text_.empty() && text_.front() == separator_) {
      text_.remove_prefix(1);
      row.cells.push_back(cell());
    }
    take(text_, "\r");
    take(text_, "\n");
    ++line_;
    return row;
  }

 private:
  /// What the line of headings has most of.
  static char separator_of(std::string_view headings) {
    constexpr std::string_view kSeparators = ",;\t";
    return *std::ranges::max_element(kSeparators, {}, [headings](char separator) {
      return std::ranges::count(headings, separator);
    });
  }

  std::string cell() {
    if (text_.starts_with('"')) return quoted_cell();
    std::size_t end = text_.find_first_of(std::string{separator_, '\r', '\n'});
    end = std::min(end, text_.size());
    const std::string cell(text_.substr(0, end));
    text_.remove_prefix(end);
    return cell;
  }

  std::string quoted_cell() {
    const std::size_t first_line = line_;
    text_.remove_prefix(1);
    std::string cell;
    while (true) {
      const std::size_t end = text_.find('"');
      file_.require(end != text_.npos, in_line(first_line) + "a quote is not closed");
      cell += text_.substr(0, end);
      line_ += std::size_t(std::ranges::count(text_.substr(0, end), '\n'));
      text_.remove_prefix(end + 1);
      if (!take(text_, "\"")) break;
      cell += '"';
    }
    const bool ends = text_.empty() || text_.front() == separator_ || text_.front() == '\r' ||
                      text_.front() == '\n';
    file_.require(ends, in_line(line_) + "text follows a closing quote");
    return cell;
  }

  static std::string in_line(std::size_t line) { return "line " + std::to_string(line) + ": "; }

  const InputFile& file_;
  std::string_view text_;
  char separator_;
  std::size_t line_ = 1;
};

bool has_no_text(const std::string& cell) { return cell.find_first_not_of(" \t") == cell.npos; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Digits with `group` between thousands: "3,571".
bool is_grouped(std::string_view digits, char group) {
  const auto groups = split_words<std::string_view>(digits, group);
  for (const std::string_view part : groups) {
    if (part.empty() || !std::ranges::all_of(part, is_digit)) return false;
    const bool first = part.data() == groups.front().data();
    if (groups.size() > 1 && (part.size() > 3 || (!first && part.size() != 3))) return false;
  }
  return true;
}

/// Takes digits, `group` and `point` from the front of `text`; the number of digits after the
/// point.
std::optional<int> take_digits(std::string_view& text, char group, char point, std::string& plain) {
  std::size_t end = 0;
  while (end < text.size() && (is_digit(text[end]) || text[end] == group || text[end] == point))
    ++end;
  const std::string_view digits = text.substr(0, end);
  const std::size_t at = std::min(digits.find(point), digits.size());
  const std::string_view whole = digits.substr(0, at);
  const std::string_view rest = digits.substr(std::min(at + 1, digits.size()));
  if (!is_grouped(whole, group) || !std::ranges::all_of(rest, is_digit)) return std::nullopt;
  std::ranges::copy_if(whole, std::back_inserter(plain), is_digit);
  plain.append(".").append(rest);
  text.remove_prefix(end);
  return int(rest.size());
}

/// Takes "e-5" from the front of `text`.
int take_exponent(std::string_view& text) {
  if (text.empty() || (text.front() != 'e' && text.front() != 'E')) return 0;
  std::string_view rest = text.substr(1);
  take(rest, "+");
  const auto exponent = take_number<int>(rest);
  if (!exponent || std::abs(*exponent) > kMostExponent) return 0;
  text = rest;
  return *exponent;
}

std::optional<WrittenNumber> read_number(std::string_view text, char group, char point) {
  const bool negative = take(text, "-");
  std::string plain;
  const auto decimals = take_digits(text, group, point, plain);
  if (!decimals) return std::nullopt;
  const int exponent = take_exponent(text);
  // What is left is a unit, which holds no further number.
  if (std::ranges::any_of(text, is_digit)) return std::nullopt;
  plain += "e" + std::to_string(exponent);
  std::string_view digits = plain;
  auto value = take_number<double>(digits);
  if (!value) return std::nullopt;  // beyond what a number holds
  if (negative) value = -*value;
  return WrittenNumber{*value, 0.5 * std::pow(10, exponent - *decimals)};
}

}  // namespace

CsvTable read_csv(const std::filesystem::path& file) {
  const InputFile input{
      file, file.string(),
      "give a table as rueda report writes it, or a copy of it from a spreadsheet"};
  const std::string text = read_text(input, kMostTableBytes);
  input.require(text.find('\0') == text.npos, "it is not a text");
  CsvTable table;
  for (CsvReader reader(input, text); !reader.at_end();) {
    CsvRow row = reader.row();
    if (std::ranges::all_of(row.cells, has_no_text)) continue;
    if (table.headings.empty()) {
      table.headings = std::move(row.cells);
      continue;
    }
    const std::size_t cells = row.cells.size(), headings = table.headings.size();
    input.require(cells == headings, "line " + std::to_string(row.line) + " has " +
                                         std::to_string(cells) + " cells, but there are " +
                                         std::to_string(headings) + " headings");
    table.rows.push_back(std::move(row));
  }
  input.require(!table.headings.empty(), "it is empty");
  input.require(!table.rows.empty(), "it has headings only, and no row");
  return table;
}

std::vector<WrittenNumber> written_numbers(const std::string& cell) {
  std::string_view text = cell;
  text.remove_prefix(std::min(text.find_first_not_of(" \t'"), text.size()));
  std::vector<WrittenNumber> numbers;
  for (const auto& [group, point] : {std::pair{',', '.'}, std::pair{'.', ','}})
    if (const auto number = read_number(text, group, point)) numbers.push_back(*number);
  return numbers;
}

}  // namespace rueda
