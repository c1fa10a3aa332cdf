#pragma once

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "display/text.hpp"

namespace rueda {

/// Nothing, a text, or a number that its column says how to show. A NaN is nothing.
class Cell {
 public:
  Cell() = default;
  Cell(double number) : number_(number) {}            // NOLINT: a row is a list of values
  Cell(std::string text) : text_(std::move(text)) {}  // NOLINT
  Cell(const char* text) : text_(text) {}             // NOLINT

  bool is_number() const noexcept { return std::isfinite(number_); }
  double number() const noexcept { return number_; }  ///< NaN if it is none
  const std::string& text() const noexcept { return text_; }

 private:
  double number_ = NAN;
  std::string text_;
};

/// How a column shows its numbers. report.json names them by these words.
enum class Show {
  text,
  count,     ///< 11,173,962
  seconds,   ///< 13.600; more decimals below 0.1
  millis,    ///< stored in seconds, shown in ms: 543.9
  rate,      ///< 3,571; 45.2; 3.21
  ratio,     ///< 1.68
  percent,   ///< stored as a share, shown as 84.0
  bytes,     ///< stored in bytes, shown as 44.7 MB
  gigabytes  ///< of GB or GB/s: 1.234
};

constexpr auto words_of(Show) {
  return std::array{"text",  "count",   "seconds", "millis",   "rate",
                    "ratio", "percent", "bytes",   "gigabytes"};
}

struct Column {
  std::string key;      ///< for programs: snake_case, with the unit of the stored number
  std::string heading;  ///< for people, with the unit of the number shown
  Show show = Show::text;
};

/// A cell and its column.
struct TableField : Column {
  Cell cell;
};
using Fields = std::vector<TableField>;

/// A table for people and programs: one source for Markdown, CSV and JSON.
/// Numbers are stored unrounded in SI units; only Markdown rounds.
struct Table {
  std::string id;     ///< for programs and file names: snake_case
  std::string title;  ///< one line
  std::vector<Column> columns = {};
  std::vector<std::vector<Cell>> rows = {};
  Texts notes = {};  ///< definitions and remarks, printed beneath

  /// Appends a row. Throws std::logic_error if its length is not the number of columns.
  void add(std::vector<Cell> row);
  /// The same; the first row makes the columns.
  void add_fields(const Fields& fields);
};

using Tables = std::vector<Table>;

/// The text of a cell as people read it; a dash where there is nothing, or a NaN.
std::string cell_text(const Cell& cell, Show show);

/// A heading, the table, and its notes as a list.
std::string to_markdown(const Table& table);
/// One header line of keys, then a line for each row; RFC 4180 quoting; empty
/// where there is nothing.
std::string to_csv(const Table& table);
/// For a terminal: columns padded, notes wrapped.
std::string to_text(const Table& table);

}  // namespace rueda
