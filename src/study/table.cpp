#include "rueda/study/table.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>

#include "rueda/display/number_text.hpp"
#include "rueda/display/text_table.hpp"

namespace rueda {
namespace {

/// Milliseconds with three digits that count, but no more than three decimals.
std::string millis_text(double seconds) {
  const double millis = seconds * 1e3;
  const double size = std::abs(millis);
  const int decimals = size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return fmt::format("{:.{}f}", size < 5e-4 ? 0 : millis, decimals);
}

std::string whole_text(double value) { return count_text(std::size_t(std::llround(value))); }

/// How a column shows a number, in the order of Show.
constexpr std::array<std::string (*)(double), 9> kTexts = {
    setting_text, [](double count) { return whole_text(std::max(0.0, count)); },
    // Microseconds are noise in a table of seconds.
    [](double seconds) { return seconds_text(std::abs(seconds) < 5e-4 ? 0.0 : seconds); },
    millis_text, [](double rate) { return rate >= 1000 ? whole_text(rate) : rate_text(rate); },
    [](double ratio) { return fmt::format("{:.2f}", ratio); },
    [](double share) { return fmt::format("{:.1f}", share * 100); }, bytes_text,
    [](double value) { return fmt::format("{:.3g}", value); }};

/// A bar would end the cell.
std::string markdown_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

std::string csv_text(const Cell& cell) {
  if (cell.is_number()) return fmt::format("{}", cell.number());
  const std::string& text = cell.text();
  if (text.find_first_of("\",\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

using Texts = std::vector<std::string>;

/// The headings, then the cells of every row, as people read them.
std::vector<Texts> texts_of(const Table& table) {
  std::vector<Texts> texts(1);
  for (const Column& column : table.columns) texts.front().push_back(column.heading);
  for (const auto& row : table.rows) {
    Texts& cells = texts.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i)
      cells.push_back(cell_text(row[i], table.columns[i].show));
  }
  return texts;
}

bool is_number(const Column& column) { return column.show != Show::text; }

}  // namespace

void Table::add(std::vector<Cell> row) {
  if (row.size() != columns.size()) throw std::logic_error("table " + id + ": cells and columns");
  rows.push_back(std::move(row));
}

void Table::add_fields(const std::vector<TableField>& fields) {
  std::vector<Cell> row;
  for (const TableField& field : fields) {
    if (rows.empty()) columns.push_back({field.key, field.heading, field.show});
    row.push_back(field.cell);
  }
  add(std::move(row));
}

std::string cell_text(const Cell& cell, Show show) {
  if (cell.is_number()) return kTexts.at(std::size_t(show))(cell.number());
  return cell.text().empty() ? "-" : cell.text();
}

std::string to_markdown(const Table& table) {
  std::string text = "### " + markdown_text(table.title) + "\n\n";
  std::string rule;
  for (const Column& column : table.columns) rule += is_number(column) ? "|---:" : "|---";
  for (Texts& row : texts_of(table)) {
    for (std::string& cell : row) cell = markdown_text(cell);
    text += fmt::format("| {} |\n", fmt::join(row, " | "));
    if (!rule.empty()) text += std::exchange(rule, "") + "|\n";
  }
  if (!table.notes.empty()) text += "\n";
  for (const std::string& note : table.notes) text += "- " + note + "\n";
  return text;
}

std::string to_csv(const Table& table) {
  std::vector<Texts> rows(1);
  for (const Column& column : table.columns) rows.front().push_back(csv_text(column.key));
  for (const auto& row : table.rows)
    std::ranges::transform(row, std::back_inserter(rows.emplace_back()), csv_text);
  std::string text;
  for (const Texts& row : rows) text += fmt::format("{}\r\n", fmt::join(row, ","));
  return text;
}

std::string to_text(const Table& table) {
  std::vector<Align> align;
  for (const Column& column : table.columns)
    align.push_back(is_number(column) ? Align::right : Align::left);
  TextTable lines(align, 2);
  for (const Texts& row : texts_of(table)) lines.add(row);
  std::string text = table.title + "\n" + lines.text();
  for (const std::string& note : table.notes) text += paragraph("  - ", 4, note);
  return text;
}

}  // namespace rueda
