#include "report.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <ostream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "../version.hpp"
#include "rueda/core/error.hpp"
#include "rueda/report/text_table.hpp"
#include "rueda/study/report_files.hpp"
#include "rueda/study/series.hpp"
#include "rueda/study/study.hpp"
#include "rueda/study/tables.hpp"

namespace rueda {
namespace {

constexpr std::array kPurposes = {Purpose::time, Purpose::cost, Purpose::knee, Purpose::efficiency};

std::string read_prediction(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream || !nlohmann::json::accept(text.str())) {
    throw InputError("--prediction " + file +
                     ": it cannot be read as JSON; give what `rueda predict --json` wrote");
  }
  return text.str();
}

void print_findings(std::ostream& out, const std::vector<Finding>& findings) {
  std::string about = "-";
  for (const Finding& finding : findings) {
    if (finding.about != about) {
      about = finding.about;
      out << "\n" << (about.empty() ? "The study" : about) << "\n";
    }
    out << paragraph("  - ", 4, finding.text);
  }
}

std::vector<std::filesystem::path> paths(const std::vector<std::string>& places) {
  return {places.begin(), places.end()};
}

}  // namespace

void settle(ReportOptions& options) {
  if (options.places.empty()) throw InputError("name at least one run directory");
  const double percent = options.efficiency_percent;
  if (!(percent > 0 && percent <= 100)) {
    throw InputError("--efficiency must be above 0 and at most 100 (percent)");
  }
  options.findings.efficiency = percent / 100;
  if (options.purpose == "all") return;
  options.findings.purposes.clear();
  for (const Purpose purpose : kPurposes) {
    if (options.purpose == to_string(purpose)) options.findings.purposes = {purpose};
  }
}

void run_report(const ReportOptions& options, std::ostream& out) {
  const Study study = load_study(paths(options.places));
  const std::vector<Series> series = make_series(observe_all(study.runs));
  Report report{.title = options.title,
                .made_with = "rueda " + program_version(),
                .series = evaluate(series),
                .tables = {},
                .findings = {},
                .layouts = {},
                .predictions = {}};
  report.tables = study_tables(study, report.series);
  report.findings = findings(study, report.series, options.findings);
  for (const std::string& file : options.predictions)
    report.predictions.push_back(read_prediction(file));
  out << to_text(overview_table(report.series));
  print_findings(out, report.findings);
  if (options.out.empty()) return;
  write_report(options.out, report);
  out << "\nWritten to " << options.out << ": report.md, report.json, tables/*.csv\n";
}

}  // namespace rueda
