#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace rueda {

/// A line of a table that somebody wrote.
struct CsvRow {
  std::size_t line = 0;  ///< of the file, from 1
  std::vector<std::string> cells;
};

/// Its rows have as many cells as there are headings.
struct CsvTable {
  std::vector<std::string> headings;
  std::vector<CsvRow> rows;
};

/// Reads a table with a line of headings: RFC 4180, or what spreadsheets make of it, with
/// semicolons or tabs between cells and in UTF-16. Rows without any text are left out. Throws
/// InputError naming file, line and remedy for what is no text, has no heading, leaves a quote
/// open, or has a row of another length; and for more than 4 MB.
CsvTable read_csv(const std::filesystem::path& file);

/// A number as somebody wrote it.
struct WrittenNumber {
  double value = 0;
  double half_unit = 0;  ///< of its last digit: what rounding to that digit may change
};

/// Every way to read a cell as a number: with commas or points between thousands. A unit after the
/// number is ignored. None if it is no number.
std::vector<WrittenNumber> written_numbers(const std::string& cell);

}  // namespace rueda
