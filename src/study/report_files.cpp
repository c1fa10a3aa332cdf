#include "rueda/study/report_files.hpp"

#include <system_error>

#include "rueda/core/error.hpp"
#include "rueda/core/files.hpp"

namespace rueda {
namespace {

namespace fs = std::filesystem;

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder, error)) {
    throw InputError(folder.string() + ": it cannot be made a directory; name another with --out");
  }
}

std::string tables_markdown(const std::vector<Table>& tables) {
  std::string text;
  for (const Table& table : tables) text += "\n" + to_markdown(table);
  return text;
}

void write_csv(const fs::path& folder, const std::vector<Table>& tables) {
  make_folder(folder);
  for (const Table& table : tables) write_atomically(folder / (table.id + ".csv"), to_csv(table));
}

std::string footer(const Report& report) {
  return "\nMade with " + report.made_with +
         ". GB = 10^9 bytes; times of a step or a collective are " + "those of the slowest rank.\n";
}

}  // namespace

std::string findings_markdown(const std::vector<Finding>& findings) {
  std::string text;
  std::string about = "-";
  for (const Finding& finding : findings) {
    if (finding.about != about) {
      about = finding.about;
      text += "\n**" + (about.empty() ? "The study" : about) + "**\n\n";
    }
    text += "- " + finding.text + "\n";
  }
  return text;
}

std::string report_markdown(const Report& report) {
  std::string text = "# " + report.title + "\n";
  if (!report.findings.empty()) text += "\n## Findings\n" + findings_markdown(report.findings);
  text += "\n## Tables\n" + tables_markdown(report.tables);
  return text + footer(report);
}

void write_report(const fs::path& folder, const Report& report) {
  make_folder(folder);
  write_atomically(folder / "report.json", report_json(report));
  write_atomically(folder / "report.md", report_markdown(report));
  write_csv(folder / "tables", report.tables);
  for (const auto& [name, tables] : report.layouts) {
    write_atomically(folder / (name + ".md"),
                     "# " + report.title + "\n" + tables_markdown(tables) + footer(report));
    write_csv(folder / name, tables);
  }
}

}  // namespace rueda
