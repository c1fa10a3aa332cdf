#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "study/check/check.hpp"
#include "study/report.hpp"

namespace rueda {
namespace {

/// Letters and digits of a name, in lower case, without what stands in brackets or after a comma.
std::string plain_name(const std::string& text) {
  std::string name;
  for (const char c : lowered(text.substr(0, text.find_first_of("(,"))))
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  return name;
}

bool is_blank(const std::string& cell) {
  return cell.find_first_not_of(" \t-") == cell.npos || cell == "–" || cell == "n/a";
}

/// By what a stored number is multiplied where people read it; 1 is always meant, too.
std::vector<double> factors_of(Show show) {
  if (show == Show::percent) return {1, 100};
  if (show == Show::millis) return {1, 1e3};
  if (show == Show::bytes) return {1, 1e-3, 1e-6, 1e-9};
  return {1};
}

/// Whether a cell is this number, rounded to the digits that the cell has.
bool agrees(const std::string& cell, double number, Show show) {
  constexpr double kRelative = 1e-9;    // of a CSV's last digits
  constexpr double kRoughShare = 0.01;  // a share rounded to one decimal says too little
  for (const WrittenNumber& written : written_numbers(cell)) {
    for (const double factor : factors_of(show)) {
      const double wanted = number * factor;
      double allowed = written.half_unit;
      if (show == Show::percent && factor == 1 && allowed > kRoughShare) allowed = 0;
      if (std::abs(written.value - wanted) <= allowed + kRelative * std::abs(wanted)) return true;
    }
  }
  return false;
}

/// Whether a cell names the same as one of the runs': P, a batch, a model.
bool same_name(const std::string& cell, const Cell& own) {
  if (own.is_number()) {
    return std::ranges::any_of(written_numbers(cell), [&own](const WrittenNumber& written) {
      return std::abs(written.value - own.number()) < 1e-9;
    });
  }
  const std::string name = plain_name(cell), wanted = plain_name(own.text());
  return wanted.starts_with(name) || name.starts_with(wanted);
}

/// Which column of a written table is which of a table of the runs.
struct Match {
  const Table* table = nullptr;
  std::vector<std::pair<std::size_t, std::size_t>> names;    ///< (written, own): tell rows apart
  std::vector<std::pair<std::size_t, std::size_t>> figures;  ///< (written, own)

  std::size_t columns() const noexcept { return names.size() + figures.size(); }
};

bool is_heading_of(const std::string& heading, const Column& column) {
  const std::string name = plain_name(heading);
  if (column.key == "ranks" && (name == "p" || name == "gpus" || name == "ranks")) return true;
  return lowered(heading) == column.key || heading == column.heading ||
         (!name.empty() && (name == plain_name(column.key) || name == plain_name(column.heading)));
}

Match match_columns(const CsvTable& written, const Table& table) {
  Match match{.table = &table};
  std::vector<bool> taken(written.headings.size());
  bool names = true;  // columns before the first figure
  for (std::size_t own = 0; own < table.columns.size(); ++own) {
    const Column& column = table.columns[own];
    names &= column.show == Show::text || column.show == Show::count;
    for (std::size_t i = 0; i < written.headings.size(); ++i) {
      if (taken[i] || !is_heading_of(written.headings[i], column)) continue;
      taken[i] = true;
      (names ? match.names : match.figures).emplace_back(i, own);
      break;
    }
  }
  return match;
}

/// Compares a row with one of the runs. `remarks` are for its line.
struct RowCheck {
  std::size_t figures = 0;
  Texts remarks;
};

RowCheck compare(const CsvRow& row, const CsvTable& written, const Match& match,
                 const std::vector<Cell>& own) {
  RowCheck check;
  for (const auto& [at, own_at] : match.figures) {
    const Column& column = match.table->columns[own_at];
    const Cell& cell = own[own_at];
    if (!cell.is_number() && (column.show == Show::text || is_blank(row.cells[at]))) continue;
    ++check.figures;
    if (cell.is_number() && agrees(row.cells[at], cell.number(), column.show)) continue;
    std::string shown = "nothing";
    if (!is_blank(row.cells[at])) shown = printable(row.cells[at]);
    std::string by_runs = "no figure";
    if (cell.is_number()) by_runs = cell_text(cell, column.show);
    check.remarks.push_back(fmt::format("line {}, {}: {}; the runs give {}", row.line,
                                        printable(written.headings[at]), shown, by_runs));
  }
  return check;
}

/// "P 4, Batch 64"
std::string row_name(const Match& match, const std::vector<Cell>& own) {
  Texts names;
  for (const auto& [at, own_at] : match.names) {
    const Column& column = match.table->columns[own_at];
    names.push_back(column.heading + " " + cell_text(own[own_at], column.show));
  }
  return joined(names, ", ");
}

/// The row of the runs that a written one is about and that agrees with it best; none if no row is.
struct BestRow {
  std::optional<std::size_t> row;
  RowCheck check;
};

BestRow best_row(const CsvRow& row, const CsvTable& written, const Match& match,
                 const std::vector<bool>& used) {
  BestRow best;
  for (std::size_t i = 0; i < match.table->rows.size(); ++i) {
    const std::vector<Cell>& own = match.table->rows[i];
    const bool named = std::ranges::all_of(match.names, [&](const auto& pair) {
      return same_name(row.cells[pair.first], own[pair.second]);
    });
    if (used[i] || !named) continue;
    RowCheck check = compare(row, written, match, own);
    if (best.row && best.check.remarks.size() <= check.remarks.size()) continue;
    best = {i, std::move(check)};
  }
  return best;
}

TableCheck compare(const CsvTable& written, const Match& match) {
  TableCheck result{.title = match.table->title};
  std::vector<bool> used(match.table->rows.size());
  for (const CsvRow& row : written.rows) {
    const BestRow best = best_row(row, written, match, used);
    if (!best.row) {
      ++result.rows_without_run;
      result.remarks.push_back(fmt::format("line {}: no run gives this row", row.line));
      continue;
    }
    used[*best.row] = true;
    result.figures += best.check.figures;
    result.differing += best.check.remarks.size();
    std::ranges::copy(best.check.remarks, std::back_inserter(result.remarks));
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) continue;
    ++result.rows_left_out;
    result.remarks.push_back("left out: " + row_name(match, match.table->rows[i]));
  }
  return result;
}

/// Whether the columns of a table are enough to compare with.
bool is_enough(const Match& match, const CsvTable& written) {
  return !match.names.empty() && !match.figures.empty() &&
         2 * match.columns() >= written.headings.size();
}

/// Whether a layout would have written a table of this name.
bool is_layout_name(const std::string& name) {
  return std::ranges::any_of(layout_names(), [&name](std::string layout) {
    std::ranges::replace(layout, '-', '_');
    return name.starts_with(layout + "_");
  });
}

/// How far a table is from being the one that was meant. A row that it does not have says more
/// against it than one whose figures all differ.
std::size_t faults_of(const TableCheck& check, const Match& match) {
  const std::size_t row = match.figures.size() + 1;
  return check.differing + row * check.rows_without_run + check.rows_left_out;
}

}  // namespace

TableCheck check_table(const std::string& name, const CsvTable& written, const Tables& tables) {
  const auto same = std::ranges::find(tables, name, &Table::id);
  if (same != tables.end()) {
    const Match match = match_columns(written, *same);
    if (is_enough(match, written)) return compare(written, match);
    return {.remarks = {"it has too few columns of this table to be compared"}};
  }
  if (is_layout_name(name))
    return {.remarks = {"the runs do not give this table: runs are missing"}};
  TableCheck best{.remarks = {"no table of the runs has its columns"}};
  std::size_t most = 0;
  std::size_t fewest = 0;
  for (const Table& table : tables) {
    const Match match = match_columns(written, table);
    if (!is_enough(match, written) || match.columns() < most) continue;
    TableCheck check = compare(written, match);
    const std::size_t faults = faults_of(check, match);
    if (match.columns() == most && faults >= fewest) continue;
    best = std::move(check);
    most = match.columns();
    fewest = faults;
  }
  return best;
}

}  // namespace rueda
