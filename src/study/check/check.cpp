#include "study/check/check.hpp"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/files.hpp"

namespace rueda {
namespace {

constexpr int kMostFolders = 3;
/// Of a table; more would hide the other tables.
constexpr std::size_t kMostRemarks = 20;

bool is_table(const fs::directory_entry& entry) {
  std::error_code error;
  return !entry.is_symlink(error) && entry.is_regular_file(error) &&
         lowered(entry.path().extension().string()) == ".csv";
}

void list_tables(const fs::path& folder, int level, std::vector<fs::path>& files) {
  std::error_code error;
  std::vector<fs::path> entries = entries_of(folder, error);
  std::ranges::sort(entries);
  for (const fs::path& path : entries) {
    const fs::directory_entry entry(path, error);
    if (is_table(entry))
      files.push_back(path);
    else if (level < kMostFolders && entry.is_directory(error) && !entry.is_symlink(error))
      list_tables(path, level + 1, files);
  }
}

std::vector<fs::path> tables_in(const fs::path& place) {
  std::error_code error;
  if (!fs::is_directory(place, error)) return {place};
  std::vector<fs::path> files;
  list_tables(place, 1, files);
  require(!files.empty(), place.string() + ": there is no .csv file in it or below; give --check " +
                              "the directory of the tables that were handed in");
  return files;
}

std::string amount(std::size_t count, const std::string& one, const std::string& many) {
  if (count == 1) return "1 " + one;
  return std::to_string(count) + " " + many;
}

void print(const TableCheck& check, const std::string& file, std::ostream& out) {
  std::string what = "not compared";
  if (!check.title.empty())
    what = check.title + ": " + amount(check.figures, "figure", "figures") + " compared";
  out << harmless(fmt::format("{}: {}\n", printable(file), what));
  for (std::size_t i = 0; i < std::min(check.remarks.size(), kMostRemarks); ++i)
    out << harmless(fmt::format("  {}\n", check.remarks[i]));
  if (check.remarks.size() > kMostRemarks)
    out << "  and " << check.remarks.size() - kMostRemarks << " more\n";
}

/// What all tables have together.
struct Sums {
  std::size_t tables = 0, unlike = 0;
  TableCheck all = {};

  void add(const TableCheck& check) {
    ++(check.title.empty() ? unlike : tables);
    all.figures += check.figures;
    all.differing += check.differing;
    all.rows_without_run += check.rows_without_run;
    all.rows_left_out += check.rows_left_out;
  }

  /// The faults in words; empty where there are none.
  std::string faults() const {
    Texts parts;
    const auto part = [&parts](std::size_t count, const char* one, const char* many) {
      if (count > 0) parts.push_back(amount(count, one, many));
    };
    part(all.differing, "figure differs", "figures differ");
    part(all.rows_without_run, "row has no run", "rows have no run");
    part(all.rows_left_out, "row of the runs is left out", "rows of the runs are left out");
    part(unlike, "file was not compared", "files were not compared");
    return joined(parts, ", ");
  }
};

}  // namespace

void check_tables(const fs::path& place, const Tables& tables, std::ostream& out) {
  Sums sums;
  for (const fs::path& file : tables_in(place)) {
    const TableCheck check = check_table(file.stem().string(), read_csv(file), tables);
    std::string name = file.filename().string();
    if (file != place) name = file.lexically_relative(place).string();
    print(check, name, out);
    sums.add(check);
  }
  const std::string compared =
      fmt::format("{} in {}", amount(sums.all.figures, "figure", "figures"),
                  amount(sums.tables, "table", "tables"));
  const std::string faults = sums.faults();
  if (!faults.empty())
    throw RunError(
        fmt::format("{}: {} compared with the runs: {}", place.string(), compared, faults));
  out << "All agree: " << compared << ", within the rounding of each.\n";
}

}  // namespace rueda
