#include "study/report.hpp"

#include <system_error>

#include "base/error.hpp"
#include "display/text.hpp"
#include "record/json_parts.hpp"
#include "study/learning_json.hpp"
#include "study/sentence.hpp"
#include "study/table_json.hpp"

namespace rueda {

/// Null where it is unknown.
Json json_of(const Estimate& e) {
  if (!known(e)) return nullptr;
  return {{"value", e.value}, {"low", e.low}, {"high", e.high}};
}

auto fields_of(const Finding&) {
  return std::tuple{Field{"about", &Finding::about}, Field{"text", &Finding::text}};
}

namespace {

namespace fs = std::filesystem;

// A number that is unknown is NaN, which is written as null.

/// Members of the observation that a point's figures are of.
template <typename Value>
auto of_point(Value Point::*member) {
  return [member](const PointFigures& f) { return f.point->*member; };
}

/// Of the first run. They are the same in all, but for --bucket-mb auto.
Json buckets_json(const Point& point) {
  Json buckets = Json::array();
  if (point.runs.empty()) return buckets;
  const RunResult& run = *point.runs.front();
  for (const BucketFigures& bucket : run.summary.all_steps.buckets) {
    Json transfer;
    if (run.sums_go_over_links()) transfer = bucket.transfer.median;
    buckets.push_back({{"bytes", bucket.bytes},
                       {"busy_median_seconds", bucket.busy.median},
                       {"transfer_median_seconds", transfer}});
  }
  return buckets;
}

const std::tuple kRateFields{
    Field{"inferred", &CommunicationFigures::inferred},
    Field{"inferred_same_batch", &CommunicationFigures::inferred_same_batch},
    Field{"measured", &CommunicationFigures::busy},
    Field{"exposed", &CommunicationFigures::exposed},
    Field{"wait", &CommunicationFigures::wait},
    Field{"transfer", &CommunicationFigures::transfer},
    Field{"add", &CommunicationFigures::add},
    Field{"bytes_per_step", &CommunicationFigures::bytes},
    Field{"algbw_GBps", &CommunicationFigures::algbw},
    Field{"busbw_GBps", &CommunicationFigures::busbw},
    Field{"link_busbw_GBps", &CommunicationFigures::link_busbw}};

Json communication_json(const PointFigures& f) {
  if (std::isnan(f.communication.inferred)) return nullptr;
  Json j = fields_json(f.communication, kRateFields);
  j["buckets"] = buckets_json(*f.point);
  return j;
}

Json factors_json(const PointFigures& f) {
  Json j;
  for (std::size_t i = 0; i < kFactors.size(); ++i) j[kFactors[i].first] = f.factors[i];
  return j;
}

/// The phase that took most of the time that was lost, or "rest"; none where too
/// little is lost to look for a cause, or repeats differ by more.
std::optional<std::string> most_lost(const PointFigures& f) {
  if (!f.losses->determined() || !(f.epoch_view.efficiency.value < kNothingLost)) return {};
  std::optional<std::string> most;
  double seconds = 0;
  for (std::size_t p = 0; p < kPhases; ++p) {
    if (!(f.losses->phases[p] > seconds)) continue;
    seconds = f.losses->phases[p];
    most = kPhaseNames[p];
  }
  if (f.losses->rest > seconds) return "rest";
  return most;
}

Json losses_json(const PointFigures& f) {
  if (!f.losses) return nullptr;
  const Losses& loss = *f.losses;
  return {{"lost", loss.lost},
          {"phases", phases_json(loss.phases)},
          {"waiting", loss.waiting},
          {"spread", loss.lost_spread},
          {"determined", loss.determined()},
          {"rest", loss.rest},
          {"most", json_of(most_lost(f))}};
}

/// Phases are of runs of rueda.
Json phases_if_run(const PointFigures& f, const PhaseSeconds& phases) {
  if (f.run == nullptr) return nullptr;
  return phases_json(phases);
}
Json step_phases(const PointFigures& f) { return phases_if_run(f, f.step_phases); }
Json epoch_phases(const PointFigures& f) { return phases_if_run(f, f.epoch_phases); }

/// The `path` of one of `runs`.
std::optional<std::string> path_of_run(const PointFigures& f) {
  if (f.run == nullptr) return {};
  return run_path(*f.run);
}

std::optional<std::size_t> rank_batch(const PointFigures& f) {
  if (f.point->rank_batch == 0) return {};
  return f.point->rank_batch;
}
Estimate rate_per_rank(const PointFigures& f) {
  return f.images_per_second * (1 / double(f.ranks()));
}
double joules(const PointFigures& f) { return f.energy.total(); }
double watt_hours(const PointFigures& f) { return f.energy.total() / 3600; }

const std::tuple kPointFields{
    Derived{"ranks", of_point(&Point::ranks)},
    Derived{"hosts", of_point(&Point::hosts)},
    Derived{"rank_batch", rank_batch},
    Derived{"global_batch", of_point(&Point::global_batch)},
    Derived{"images", of_point(&Point::images)},
    Derived{"steps", of_point(&Point::steps)},
    Derived{"repeats", of_point(&Point::repeats)},
    Derived{"oversubscribed", of_point(&Point::oversubscribed)},
    Derived{"includes_warm_up", of_point(&Point::includes_warm_up)},
    Derived{"disturbed", of_point(&Point::disturbed)},
    Derived{"epoch_seconds", of_point(&Point::epoch)},
    Derived{"first_epoch_seconds", of_point(&Point::first_epoch)},
    Derived{"full_step_seconds", of_point(&Point::full_step)},
    Derived{"mean_step_seconds", of_point(&Point::mean_step)},
    Field{"images_per_second", &PointFigures::images_per_second},
    Derived{"images_per_second_per_rank", rate_per_rank},
    Field{"speedup", in(&PointFigures::epoch_view, &Speedup::speedup)},
    Field{"efficiency", in(&PointFigures::epoch_view, &Speedup::efficiency)},
    Field{"step_speedup", in(&PointFigures::step_view, &Speedup::speedup)},
    Field{"step_efficiency", in(&PointFigures::step_view, &Speedup::efficiency)},
    Field{"karp_flatt", &PointFigures::karp_flatt},
    Field{"gustafson", &PointFigures::gustafson},
    Derived{"phases", step_phases},
    Derived{"epoch_phases", epoch_phases},
    Derived{"factors", factors_json},
    Derived{"communication", communication_json},
    Derived{"losses", losses_json},
    Field{"device_seconds", &PointFigures::device_seconds},
    Derived{"joules", joules},
    Derived{"watt_hours", watt_hours},
    Derived{"run", path_of_run}};

const char* processor_name(const Series& series) {
  constexpr std::array kProcessors = {"cpu", "gpu", "timed"};
  return kProcessors.at(std::size_t(series.processor));
}

const std::tuple kSeriesFields{Field{"id", &Series::id},
                               Field{"label", &Series::label},
                               Field{"source", &Series::source},
                               Field{"model", &Series::model},
                               Field{"variant", &Series::variant},
                               Derived{"processor", processor_name},
                               Field{"image_size", &Series::image_size},
                               Field{"scaling", &Series::scaling},
                               Field{"batch", &Series::batch}};

Json series_json(const SeriesFigures& figures) {
  Json j = fields_json(*figures.series, kSeriesFields);
  j["points"] = list_json(figures.points, kPointFields);
  j["amdahl"] = nullptr;
  if (const auto fit = amdahl_fraction(*figures.series))
    j["amdahl"] = {{"serial_fraction", fit->value}, {"low", fit->low}, {"high", fit->high}};
  return j;
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder, error))
    throw InputError(folder.string() + ": it cannot be made a directory; name another with --out");
}

std::string tables_markdown(const Tables& tables) {
  std::string text;
  for (const Table& table : tables) text += "\n" + to_markdown(table);
  return text;
}

void write_csv(const fs::path& folder, const Tables& tables) {
  make_folder(folder);
  for (const Table& table : tables) write_output(folder / (table.id + ".csv"), to_csv(table));
}

/// Before anything is written.
void require_own_folders(const fs::path& folder, const Report& report) {
  const std::string remedy = "remove it, or name another folder with --out";
  require_own_folder(folder / "tables", remedy);
  for (const auto& [name, tables] : report.layouts) require_own_folder(folder / name, remedy);
}

std::string footer(const Report& report) {
  return "\nMade with " + report.made_with +
         ". GB = 10^9 bytes; times of a step or a collective are those of the slowest rank.\n";
}

Json comparison_json(const Comparison& comparison) {
  Json j = {{"findings", comparison.findings}, {"tables", json_of(comparison.tables)}};
  for (const RunResult* run : comparison.runs) {
    Json one = learned_json(*run);
    one.erase("evaluation");  // which is in `runs`, or of a repeat
    one["phases"] = phases_json(full_step_phases(*run));
    j["runs"].push_back(std::move(one));
  }
  return j;
}

std::string report_json(const Report& report) {
  Json j = {{"schema", "rueda-report"},
            {"schema_version", kReportSchemaVersion},
            {"title", report.title},
            {"made_with", report.made_with},
            {"findings", json_of(report.findings)},
            {"series", values_of(report.series, series_json)},
            {"runs", Json::array()},
            {"comparison", nullptr},
            {"tables", json_of(report.tables)},
            {"layouts", Json::object()},
            {"predictions", Json::array()}};
  if (report.comparison) j["comparison"] = comparison_json(*report.comparison);
  for (const RunResult* run : report.runs) j["runs"].push_back(learned_json(*run));
  for (const auto& [name, tables] : report.layouts) j["layouts"][name] = json_of(tables);
  for (const std::string& text : report.predictions) j["predictions"].push_back(Json::parse(text));
  return text_of(j, 1) + "\n";
}

std::string heading_of(const std::string& about, bool markdown) {
  std::string name = about;
  if (about.empty()) name = "The study";
  if (markdown) name = "**" + name + "**\n";
  return "\n" + name + "\n";
}

}  // namespace

std::vector<const RunResult*> runs_shown(const StudyFigures& all) {
  std::vector<const RunResult*> runs;
  for (const SeriesFigures& series : all)
    for (const PointFigures& f : series.points)
      if (f.run != nullptr) runs.push_back(f.run);
  return each_once(runs);
}

std::string findings_text(const std::vector<Finding>& findings, bool markdown) {
  std::string text;
  std::string about = "-";
  for (const Finding& finding : findings) {
    if (finding.about != about) {
      about = finding.about;
      text += heading_of(about, markdown);
    }
    if (markdown)
      text += "- " + finding.text + "\n";
    else
      text += paragraph("  - ", 4, finding.text);
  }
  return text;
}

void write_report(const fs::path& folder, const Report& report) {
  make_folder(folder);
  require_own_folders(folder, report);
  write_output(folder / "report.json", report_json(report));
  std::string text = "# " + report.title + "\n";
  Tables all = report.tables;
  if (report.comparison) {
    const Comparison& comparison = *report.comparison;
    text += "\n## Comparison\n";
    for (const std::string& finding : comparison.findings) text += "\n- " + finding;
    text += "\n" + tables_markdown(comparison.tables);
    all.insert(all.end(), comparison.tables.begin(), comparison.tables.end());
  }
  if (!report.findings.empty()) text += "\n## Findings\n" + findings_text(report.findings, true);
  text += "\n## Tables\n" + tables_markdown(report.tables) + footer(report);
  write_output(folder / "report.md", text);
  write_csv(folder / "tables", all);
  for (const auto& [name, tables] : report.layouts) {
    write_output(folder / (name + ".md"),
                 "# " + report.title + "\n" + tables_markdown(tables) + footer(report));
    write_csv(folder / name, tables);
  }
}

}  // namespace rueda
