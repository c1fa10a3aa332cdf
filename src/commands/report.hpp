#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "study/report.hpp"

namespace rueda {

/// The options of `rueda report`.
struct ReportOptions {
  std::vector<std::string> places;   ///< run directories, directories of studies, run.json files
  std::string out;                   ///< empty: only the overview is printed
  std::string title;                 ///< empty: by what is reported
  std::string purpose = "all";       ///< one of Purpose's words, or all of them
  double efficiency_percent = 80;    ///< that Purpose::efficiency keeps
  FindingOptions findings;           ///< set by the two above
  std::vector<std::string> logs;     ///< FILE,model=..,ranks=..: of other frameworks
  std::string check;                 ///< tables to compare with the runs; empty: none
  std::string published;             ///< a set of published runs, or all; empty: none
  std::vector<std::string> layouts;  ///< of layout_names()
  std::string plots = "auto";        ///< "on", "off", or "auto": where there is matplotlib
  bool slides = false;
  std::vector<std::string> predictions;  ///< files of `rueda predict --json`
};

/// Checks options against each other and fills in `findings`. Throws InputError.
void validate(ReportOptions& options);

/// Reads the runs, prints an overview with the findings, and writes the report
/// to `out`. Throws InputError for what cannot be read, RunError for what
/// cannot be written.
void run_command(const ReportOptions& options, std::ostream& out);

}  // namespace rueda
