#include "commands/report.hpp"

#include <algorithm>
#include <optional>
#include <ostream>

#include "base/json/bounded_json.hpp"
#include "base/text.hpp"
#include "base/text_input.hpp"
#include "commands/reader.hpp"
#include "run/wiring/versions.hpp"
#include "study/check/check.hpp"
#include "study/observation.hpp"

namespace rueda {
namespace {

std::string read_prediction(const std::string& file) {
  constexpr std::size_t kMostBytes = 64'000'000;
  const InputFile input{file, "--prediction " + file, "give what `rueda predict --json` wrote"};
  std::string text = read_text(input, kMostBytes);
  if (const std::string fault = fault_of_json(text); !fault.empty()) input.refuse(fault);
  return text;
}

/// By depth of the model: rueda's runs first, then what others printed.
std::vector<Observation> observe_everything(const Study& study, const ReportOptions& options) {
  std::vector<Observation> all = observe_all(study.runs);
  for (const std::string& log : options.logs)
    std::ranges::move(read_keras_log(parse_keras_log_option(log)), std::back_inserter(all));
  if (!options.published.empty())
    std::ranges::move(published(options.published), std::back_inserter(all));
  std::ranges::stable_sort(all, {}, [](const Observation& o) { return depth_of(o.model); });
  return all;
}

void add_tables(Report& report, const Study& study, const std::vector<Observation>& observations,
                const ReportOptions& options) {
  report.tables = study_tables(study, report.series);
  Table acceleration = acceleration_table(observations);
  if (!acceleration.rows.empty()) report.tables.push_back(std::move(acceleration));
  for (const std::string& layout : options.layouts) {
    auto& tables = report.layouts[layout];
    tables = layout_tables(layout, report.series, observations);
    if (!tables.empty()) continue;
    throw InputError("--layout " + layout + ": nothing that was read fits into its tables; " +
                     "jobs/scale.sh " + layout + " makes the runs that they ask for");
  }
}

/// The tables of the report and of all layouts.
Tables all_tables(const Report& report, const std::vector<Observation>& observations) {
  Tables tables = report.tables;
  for (const std::string& layout : layout_names())
    std::ranges::move(layout_tables(layout, report.series, observations),
                      std::back_inserter(tables));
  return tables;
}

/// The run of a place that is its directory or file; null for a directory that holds several.
const RunResult* run_named(const Study& study, const std::string& place) {
  for (const RunResult& run : study.runs)
    for (const auto& name : {run.file, run.file.parent_path(), run.file.parent_path() / ""})
      if (name.lexically_normal() == std::filesystem::path(place).lexically_normal()) return &run;
  return nullptr;
}

/// Of exactly two runs that were named.
std::optional<Comparison> comparison_of(const Study& study, const Texts& places) {
  if (places.size() != 2 || study.runs.size() != 2) return {};
  const RunResult *a = run_named(study, places[0]), *b = run_named(study, places[1]);
  if (a == nullptr || b == nullptr || a == b) return {};
  return compare(*a, *b);
}

/// As given, else by what is reported.
std::string title_of(const ReportOptions& options, const Study& study, const Report& report) {
  if (!options.title.empty()) return options.title;
  if (report.comparison) {
    const auto& [a, b] = report.comparison->runs;
    return "Runs " + folder_name(a->file) + " and " + folder_name(b->file);
  }
  const bool alone = study.runs.size() == 1 && report.series.size() == 1;
  return alone ? "Run " + folder_name(study.runs.front().file) : "Scaling study";
}

bool must_draw(const ReportOptions& options) { return options.slides || options.plots == "on"; }

/// Plots, page and slides, or one line that says what is missing.
void draw(const ReportOptions& options, std::ostream& out) {
  if (options.plots == "off") return;
  if (!must_draw(options) && !plotter_available()) {
    out << "No plots and no report.html: there is no Python with matplotlib here. "
           "jobs/plot_report.py draws them elsewhere.\n";
    return;
  }
  std::vector<std::string> arguments = {options.out};
  if (options.slides) arguments.emplace_back("--slides");
  out << run_plot_script("plot_report", arguments);  // docs/report.md
  out << "Drawn: report.html, plots/*.png, plots/*.pdf";
  if (options.slides) out << ", slides.html";
  out << "\n";
}

}  // namespace

void validate(ReportOptions& options) {
  const double percent = options.efficiency_percent;
  require(!options.places.empty() || !options.logs.empty() || !options.published.empty(),
          "name at least one run directory, --keras-log or --published");
  require(!options.slides || options.plots != "off",
          "--slides draws, and --plots off does not: give one of the two");
  require(!options.out.empty() || (!must_draw(options) && options.layouts.empty()),
          "--slides, --plots on and --layout write files: say where with --out");
  require(options.check.empty() || options.out.empty(),
          "--check compares tables and writes nothing: leave --out away");
  require(percent > 0 && percent <= 100, "--efficiency must be above 0 and at most 100 (percent)");
  options.findings.efficiency = percent / 100;
  if (options.purpose == "all") return;
  std::erase_if(options.findings.purposes,
                [&](Purpose purpose) { return options.purpose != to_string(purpose); });
}

void run_command(const ReportOptions& options, std::ostream& out) {
  if (must_draw(options)) {
    check_plotter(options.slides ? "--slides" : "--plots on",
                  "leave it out and draw elsewhere with jobs/plot_report.py");
  }
  const Study study = load_study({options.places.begin(), options.places.end()});
  const std::vector<Observation> observations = observe_everything(study, options);
  const std::vector<Series> series = make_series(observations);
  Report report{.made_with = "rueda " + program_version(), .series = evaluate(series)};
  report.runs = runs_shown(report.series);
  add_tables(report, study, observations, options);
  if (!options.check.empty()) {
    check_tables(options.check, all_tables(report, observations), out);
    return;
  }
  report.findings = findings(study, report.series, options.findings);
  for (const std::string& file : options.predictions)
    report.predictions.push_back(read_prediction(file));
  report.comparison = comparison_of(study, options.places);
  report.title = title_of(options, study, report);
  out << to_text(overview_table(report.series)) << findings_text(report.findings, false);
  if (report.comparison) out << comparison_text(*report.comparison);
  if (options.out.empty()) return;
  write_report(options.out, report);
  out << "\nWritten to " << one_line(options.out) << ": report.md, report.json, tables/*.csv";
  for (const std::string& layout : options.layouts)
    out << ", " << layout << ".md, " << layout << "/*.csv";
  out << "\n";
  draw(options, out);
}

}  // namespace rueda
