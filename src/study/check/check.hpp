#pragma once

#include <filesystem>
#include <iosfwd>

#include "study/check/csv.hpp"
#include "study/table.hpp"

namespace rueda {

/// How a table that was handed in compares with one that runs give.
struct TableCheck {
  std::string title;        ///< of the runs' table; empty: none is like it
  std::size_t figures = 0;  ///< that were compared
  std::size_t differing = 0;
  std::size_t rows_without_run = 0;  ///< rows that the runs do not give
  std::size_t rows_left_out = 0;     ///< rows of the runs that were not handed in
  Texts remarks = {};                ///< one for each of them, with its line

  bool agrees() const noexcept {
    return !title.empty() && differing == 0 && rows_without_run == 0 && rows_left_out == 0;
  }
};

/// Compares a table with the one of `tables` that has `name` as id, or else with the one that
/// has most of its columns and agrees with it best. Columns are told by key or heading, rows by
/// what stands before the first figure (P, batch, model). A figure agrees if it is the runs' one,
/// rounded to the digits that it has, in the unit of a CSV or of a page. Texts are not compared.
TableCheck check_table(const std::string& name, const CsvTable& written, const Tables& tables);

/// Compares every .csv file in `place` (three levels deep, links are not followed), or the
/// file `place`, and prints what differs. Throws RunError if something does, InputError if
/// there is no such file, or one that cannot be read.
void check_tables(const std::filesystem::path& place, const Tables& tables, std::ostream& out);

}  // namespace rueda
