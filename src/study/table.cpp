#include "study/table.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/ranges.h>

#include "base/statistics.hpp"

namespace rueda {
namespace {

/// Milliseconds with three digits that count, but no more than three decimals.
std::string millis_text(double seconds) {
  const double millis = seconds * 1e3;
  const double size = std::abs(millis);
  if (size >= 10) return fmt::format("{:.1f}", millis);
  if (size >= 1) return fmt::format("{:.2f}", millis);
  if (size >= 5e-4) return fmt::format("{:.3f}", millis);
  return "0.000";
}

std::string whole_text(double value) { return count_text(std::size_t(std::llround(value))); }

std::string shown_count(double count) { return whole_text(std::max(0.0, count)); }

/// Microseconds are noise in a table of seconds.
std::string shown_seconds(double seconds) {
  if (std::abs(seconds) < 5e-4) return seconds_text(0);
  return seconds_text(seconds);
}

std::string shown_rate(double rate) {
  if (rate >= 1000) return whole_text(rate);
  return rate_text(rate);
}

std::string shown_ratio(double ratio) { return fmt::format("{:.2f}", ratio); }
std::string shown_percent(double share) { return fmt::format("{:.1f}", share * 100); }
std::string shown_gigabytes(double value) { return fmt::format("{:.3g}", value); }

/// How a column shows a number, in the order of Show.
constexpr std::array<std::string (*)(double), 9> kTexts = {
    setting_text, shown_count,   shown_seconds, millis_text,    shown_rate,
    shown_ratio,  shown_percent, bytes_text,    shown_gigabytes};

/// A bar would end the cell; the others begin HTML and links.
std::string markdown_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (std::string_view("|<[").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  std::ranges::replace(result, '\n', ' ');
  return result;
}

std::string csv_text(const Cell& cell) {
  if (cell.is_number()) return fmt::format("{}", cell.number());
  std::string text = cell.text();
  if (!text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos)
    text.insert(0, 1, '\'');  // a spreadsheet would compute it
  if (text.find_first_of("\",\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += c;
    quoted += c;
  }
  return quoted + '"';
}

template <typename Cells>
std::string csv_line(const Cells& cells) {
  return fmt::format("{}\r\n", fmt::join(values_of(cells, csv_text), ","));
}

/// The headings, then the cells of every row, as people read them.
std::vector<Texts> texts_of(const Table& table) {
  std::vector<Texts> texts = {values_of(table.columns, &Column::heading)};
  for (const auto& row : table.rows) {
    Texts& cells = texts.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i)
      cells.push_back(cell_text(row[i], table.columns[i].show));
  }
  return texts;
}

bool is_number(const Column& column) { return column.show != Show::text; }

Align alignment(const Column& column) {
  if (is_number(column)) return Align::right;
  return Align::left;
}

}  // namespace

void Table::add(std::vector<Cell> row) {
  if (row.size() != columns.size()) throw std::logic_error("table " + id + ": cells and columns");
  rows.push_back(std::move(row));
}

void Table::add_fields(const Fields& fields) {
  std::vector<Cell> row;
  for (const TableField& field : fields) {
    if (rows.empty()) columns.push_back(field);
    row.push_back(field.cell);
  }
  add(std::move(row));
}

std::string cell_text(const Cell& cell, Show show) {
  if (cell.is_number()) return kTexts.at(std::size_t(show))(cell.number());
  if (cell.text().empty()) return "-";
  return cell.text();
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
  std::string text = csv_line(values_of(table.columns, &Column::key));
  for (const auto& row : table.rows) text += csv_line(row);
  return text;
}

std::string to_text(const Table& table) {
  TextTable lines(values_of(table.columns, alignment), 2);
  for (const Texts& row : texts_of(table)) lines.add(row);
  std::string text = table.title + "\n" + lines.text();
  for (const std::string& note : table.notes) text += paragraph("  - ", 4, note);
  return text;
}

}  // namespace rueda
