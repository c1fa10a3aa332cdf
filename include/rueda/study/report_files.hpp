#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "findings.hpp"
#include "study/figures.hpp"
#include "table.hpp"

namespace rueda {

/// `schema_version` of report.json: raised when a field changes its meaning or goes.
inline constexpr int kReportSchemaVersion = 1;

/// Everything that a report says, before it takes a form.
struct Report {
  std::string title;
  std::string made_with;  ///< program and version
  std::vector<SeriesFigures> series;
  std::vector<Table> tables;
  std::vector<Finding> findings;
  std::map<std::string, std::vector<Table>> layouts;  ///< hand-ins by name
  std::vector<std::string> predictions;  ///< JSON texts of `rueda predict --json`, parsed before
};

/// One JSON text, as docs/report.md describes it: numbers unrounded, unknown ones null.
std::string report_json(const Report& report);
/// A list, under a heading for each series.
std::string findings_markdown(const std::vector<Finding>& findings);
/// Findings first, then the tables with their definitions.
std::string report_markdown(const Report& report);

/// Writes report.json, report.md, tables/ID.csv, and for each layout NAME.md and NAME/ID.csv into
/// `folder`, which is made if need be. Each file is written in one go. Throws RunError.
void write_report(const std::filesystem::path& folder, const Report& report);

}  // namespace rueda
