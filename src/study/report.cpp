#include "study/report.hpp"

#include <system_error>

#include "base/error.hpp"
#include "display/text.hpp"
#include "record/json_parts.hpp"
#include "study/json_view.hpp"

namespace rueda {
namespace {

namespace fs = std::filesystem;

// A number that is unknown is NaN, which is written as null.

Json estimate(const Estimate& e) {
  if (!known(e)) return nullptr;
  return {{"value", e.value}, {"low", e.low}, {"high", e.high}};
}

/// Of the first run. They are the same in all, but for --bucket-mb auto.
Json buckets_json(const Point& point) {
  if (point.runs.empty()) return Json::array();
  const RunResult& run = *point.runs.front();
  return values_of(run.steady_communication.buckets, [&](const BucketResult& bucket) {
    const double transfer = run.sums_go_over_links() ? bucket.transfer.median : kUnknown;
    return Json{{"bytes", bucket.bytes},
                {"busy_median_seconds", bucket.busy.median},
                {"transfer_median_seconds", transfer}};
  });
}

Json communication_json(const PointFigures& f) {
  const CommunicationFigures& c = f.communication;
  if (std::isnan(c.inferred)) return nullptr;
  return {{"inferred", c.inferred},
          {"inferred_same_batch", c.inferred_same_batch},
          {"measured", c.busy},
          {"exposed", c.exposed},
          {"wait", c.wait},
          {"transfer", c.transfer},
          {"add", c.add},
          {"bytes_per_step", c.bytes},
          {"algbw_GBps", c.algbw},
          {"busbw_GBps", c.busbw},
          {"link_busbw_GBps", c.link_busbw},
          {"buckets", buckets_json(*f.point)}};
}

Json factors_json(const EfficiencyFactors& factors) {
  Json j;
  for (std::size_t i = 0; i < kFactors.size(); ++i) j[kFactors[i].first] = factors[i];
  return j;
}

Json losses_json(const std::optional<Losses>& loss) {
  if (!loss) return nullptr;
  return {{"lost", loss->lost},
          {"phases", phases_json(loss->phases)},
          {"waiting", loss->waiting},
          {"spread", loss->lost_spread},
          {"determined", loss->determined()},
          {"rest", loss->rest}};
}

Json point_json(const PointFigures& f) {
  const Point& p = *f.point;
  const bool has_run = f.run != nullptr;
  return {{"ranks", p.ranks},
          {"hosts", p.hosts},
          {"rank_batch", p.rank_batch == 0 ? Json() : Json(p.rank_batch)},
          {"global_batch", p.global_batch},
          {"images", p.images},
          {"steps", p.steps},
          {"repeats", p.repeats},
          {"oversubscribed", p.oversubscribed},
          {"includes_warm_up", p.includes_warm_up},
          {"disturbed", p.disturbed},
          {"epoch_seconds", estimate(p.epoch)},
          {"first_epoch_seconds", estimate(p.first_epoch)},
          {"full_step_seconds", estimate(p.full_step)},
          {"mean_step_seconds", estimate(p.mean_step)},
          {"images_per_second", estimate(f.images_per_second)},
          {"images_per_second_per_rank", estimate(f.images_per_second * (1 / double(p.ranks)))},
          {"speedup", estimate(f.epoch_view.speedup)},
          {"efficiency", estimate(f.epoch_view.efficiency)},
          {"step_speedup", estimate(f.step_view.speedup)},
          {"step_efficiency", estimate(f.step_view.efficiency)},
          {"karp_flatt", f.karp_flatt},
          {"gustafson", f.gustafson},
          {"phases", has_run ? phases_json(f.step_phases) : Json()},
          {"epoch_phases", has_run ? phases_json(f.epoch_phases) : Json()},
          {"factors", factors_json(f.factors)},
          {"communication", communication_json(f)},
          {"losses", losses_json(f.losses)},
          {"device_seconds", f.device_seconds},
          {"joules", f.energy.total()},
          {"watt_hours", f.energy.total() / 3600}};
}

Json series_json(const SeriesFigures& figures) {
  constexpr std::array kProcessors = {"cpu", "gpu", "timed"};
  const Series& s = *figures.series;
  const auto fit = amdahl_fraction(s);
  return {
      {"id", s.id},
      {"label", s.label},
      {"source", s.source},
      {"model", s.model},
      {"variant", s.variant},
      {"processor", kProcessors.at(std::size_t(s.processor))},
      {"image_size", s.image_size},
      {"scaling", to_string(s.scaling)},
      {"batch", s.batch},
      {"points", values_of(figures.points, point_json)},
      {"amdahl", fit ? Json{{"serial_fraction", fit->value}, {"low", fit->low}, {"high", fit->high}}
                     : Json()}};
}

Json table_json(const Table& table) {
  constexpr std::array kShows = {"text",  "count",   "seconds", "millis",   "rate",
                                 "ratio", "percent", "bytes",   "gigabytes"};
  const auto columns = values_of(table.columns, [&](const Column& column) {
    return Json{{"key", column.key},
                {"heading", column.heading},
                {"show", kShows.at(std::size_t(column.show))}};
  });
  const auto rows = values_of(table.rows, [](const std::vector<Cell>& row) {
    return values_of(row, [](const Cell& cell) { return json_of(cell); });
  });
  return {{"id", table.id},
          {"title", table.title},
          {"columns", columns},
          {"rows", rows},
          {"notes", table.notes}};
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

std::string footer(const Report& report) {
  return "\nMade with " + report.made_with +
         ". GB = 10^9 bytes; times of a step or a collective are those of the slowest rank.\n";
}

std::string finding_text(const Finding& f) {
  return (f.about.empty() ? "" : f.about + ": ") + f.text;
}

std::string report_json(const Report& report) {
  Json j = {
      {"schema", "rueda-report"},
      {"schema_version", kReportSchemaVersion},
      {"title", report.title},
      {"made_with", report.made_with},
      {"findings", values_of(report.findings, finding_text)},
      {"series", values_of(report.series, series_json)},
      {"tables", values_of(report.tables, table_json)},
      {"layouts", Json::object()},
      {"predictions", values_of(report.predictions, [](auto& text) { return Json::parse(text); })}};
  for (const auto& [name, tables] : report.layouts)
    j["layouts"][name] = values_of(tables, table_json);
  return text_of(j, 1) + "\n";
}

}  // namespace

std::string findings_text(const std::vector<Finding>& findings, bool markdown) {
  std::string text;
  std::string about = "-";
  for (const Finding& finding : findings) {
    if (finding.about != about) {
      about = finding.about;
      const std::string name = about.empty() ? "The study" : about;
      text += markdown ? "\n**" + name + "**\n\n" : "\n" + name + "\n";
    }
    text += markdown ? "- " + finding.text + "\n" : paragraph("  - ", 4, finding.text);
  }
  return text;
}

void write_report(const fs::path& folder, const Report& report) {
  make_folder(folder);
  write_output(folder / "report.json", report_json(report));
  std::string text = "# " + report.title + "\n";
  if (!report.findings.empty()) text += "\n## Findings\n" + findings_text(report.findings, true);
  text += "\n## Tables\n" + tables_markdown(report.tables) + footer(report);
  write_output(folder / "report.md", text);
  write_csv(folder / "tables", report.tables);
  for (const auto& [name, tables] : report.layouts) {
    write_output(folder / (name + ".md"),
                 "# " + report.title + "\n" + tables_markdown(tables) + footer(report));
    write_csv(folder / name, tables);
  }
}

}  // namespace rueda
