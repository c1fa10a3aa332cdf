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

/// A bar would end the cell; the others begin HTML and links.
std::string markdown_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (std::string_view("|<[").find(c) != std::string_view::npos) result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

std::string csv_text(const Cell& cell) {
  if (cell.is_number()) return fmt::format("{}", cell.number());
  std::string text = cell.text();
  if (!text.empty() && std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos)
    text.insert(0, 1, '\'');  // a spreadsheet would compute it
  if (text.find_first_of("\",\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
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
  const auto line = [](const auto& cells) {
    return fmt::format("{}\r\n", fmt::join(values_of(cells, csv_text), ","));
  };
  std::string text = line(values_of(table.columns, &Column::key));
  for (const auto& row : table.rows) text += line(row);
  return text;
}

std::string to_text(const Table& table) {
  const auto align = [](const Column& c) { return is_number(c) ? Align::right : Align::left; };
  TextTable lines(values_of(table.columns, align), 2);
  for (const Texts& row : texts_of(table)) lines.add(row);
  std::string text = table.title + "\n" + lines.text();
  for (const std::string& note : table.notes) text += paragraph("  - ", 4, note);
  return text;
}

}  // namespace rueda
