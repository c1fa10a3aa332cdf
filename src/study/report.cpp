#include "rueda/study/report.hpp"

#include <array>
#include <cmath>
#include <system_error>

#include <nlohmann/json.hpp>

#include "rueda/core/error.hpp"
#include "rueda/core/files.hpp"
#include "study/json_view.hpp"

namespace rueda {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json estimate(const Estimate& e) {
  if (!known(e)) return nullptr;
  return {{"value", e.value}, {"low", number(e.low)}, {"high", number(e.high)}};
}

Json phases_json(const std::array<double, kPhases>& seconds) {
  Json j;
  for (std::size_t p = 0; p < kPhases; ++p) j[std::string(kPhaseNames[p])] = number(seconds[p]);
  return j;
}

/// Of the first run: buckets are the same in all.
Json buckets_json(const Point& point) {
  Json all = Json::array();
  for (const BucketResult& bucket : point.runs.front()->steady_communication.buckets) {
    all.push_back({{"bytes", number(bucket.bytes)},
                   {"busy_median_seconds", number(bucket.busy.median)},
                   {"transfer_median_seconds", number(bucket.transfer.median)}});
  }
  return all;
}

Json communication_json(const PointFigures& f) {
  const CommunicationFigures& c = f.communication;
  if (std::isnan(c.inferred)) return nullptr;
  Json j;
  j["inferred"] = number(c.inferred);
  j["inferred_same_batch"] = number(c.inferred_same_batch);
  j["measured"] = number(c.measured);
  j["exposed"] = number(c.exposed);
  j["wait"] = number(c.wait);
  j["transfer"] = number(c.transfer);
  j["add"] = number(c.add);
  j["bytes_per_step"] = number(c.bytes_per_step);
  j["algbw_GBps"] = number(c.algbw);
  j["busbw_GBps"] = number(c.busbw);
  j["link_busbw_GBps"] = number(c.link_busbw);
  j["buckets"] = f.run != nullptr ? buckets_json(*f.point) : Json::array();
  return j;
}

void add_configuration(Json& j, const Point& p) {
  j["ranks"] = p.ranks;
  j["hosts"] = p.hosts;
  j["rank_batch"] = p.rank_batch == 0 ? Json() : Json(p.rank_batch);
  j["global_batch"] = p.global_batch;
  j["images"] = number(p.images);
  j["steps"] = p.steps;
  j["repeats"] = p.repeats;
  j["oversubscribed"] = p.oversubscribed;
  j["includes_warm_up"] = p.includes_warm_up;
}

void add_times(Json& j, const PointFigures& f) {
  j["epoch_seconds"] = estimate(f.point->epoch);
  j["first_epoch_seconds"] = estimate(f.point->first_epoch);
  j["full_step_seconds"] = estimate(f.point->full_step);
  j["mean_step_seconds"] = estimate(f.point->mean_step);
  j["images_per_second"] = estimate(f.images_per_second);
  j["images_per_second_per_rank"] = estimate(f.images_per_second * (1 / double(f.point->ranks)));
  j["speedup"] = estimate(f.epoch_view.speedup);
  j["efficiency"] = estimate(f.epoch_view.efficiency);
  j["step_speedup"] = estimate(f.step_view.speedup);
  j["step_efficiency"] = estimate(f.step_view.efficiency);
  j["karp_flatt"] = number(f.karp_flatt);
  j["gustafson"] = number(f.gustafson);
}

Json losses_json(const std::optional<Losses>& loss) {
  if (!loss) return nullptr;
  return {{"lost", number(loss->lost)},
          {"phases", phases_json(loss->phases)},
          {"waiting", number(loss->waiting)},
          {"rest", number(loss->rest)}};
}

Json point_json(const PointFigures& f) {
  Json j;
  add_configuration(j, *f.point);
  add_times(j, f);
  const bool has_run = f.run != nullptr;
  j["phases"] = has_run ? phases_json(f.step_phases) : Json();
  j["epoch_phases"] = has_run ? phases_json(f.epoch_phases) : Json();
  j["communication"] = communication_json(f);
  j["losses"] = losses_json(f.losses);
  j["device_seconds"] = number(f.device_seconds);
  j["joules"] = number(f.joules);
  return j;
}

Json processor_json(Processor processor) {
  constexpr std::array kWords = {"cpu", "gpu", "timed"};
  return kWords.at(static_cast<std::size_t>(processor));
}

Json series_json(const SeriesFigures& figures) {
  const Series& s = *figures.series;
  Json j;
  j["id"] = s.id;
  j["label"] = s.label;
  j["source"] = s.source;
  j["model"] = s.model;
  j["variant"] = s.variant;
  j["processor"] = processor_json(s.processor);
  j["image_size"] = s.image_size;
  j["scaling"] = to_string(s.scaling);
  j["batch"] = s.batch;
  j["points"] = Json::array();
  for (const PointFigures& f : figures.points) j["points"].push_back(point_json(f));
  const auto& fit = figures.serial_fraction;
  j["amdahl"] =
      fit ? Json{{"serial_fraction", fit->value}, {"low", fit->low}, {"high", fit->high}} : Json();
  return j;
}

const char* show_text(Show show) {
  constexpr std::array kWords = {"text",  "count",   "seconds", "millis",   "rate",
                                 "ratio", "percent", "bytes",   "gigabytes"};
  return kWords.at(static_cast<std::size_t>(show));
}

Json table_json(const Table& table) {
  Json j;
  j["id"] = table.id;
  j["title"] = table.title;
  j["columns"] = Json::array();
  for (const Column& c : table.columns) {
    j["columns"].push_back({{"key", c.key}, {"heading", c.heading}, {"show", show_text(c.show)}});
  }
  j["rows"] = Json::array();
  for (const auto& row : table.rows) {
    Json cells = Json::array();
    for (const Cell& cell : row) cells.push_back(json_of(cell));
    j["rows"].push_back(cells);
  }
  j["notes"] = table.notes;
  return j;
}

Json tables_json(const std::vector<Table>& tables) {
  Json all = Json::array();
  for (const Table& table : tables) all.push_back(table_json(table));
  return all;
}

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
         ". GB = 10^9 bytes; times of a step or a collective are those of the slowest rank.\n";
}

std::string report_json(const Report& report) {
  Json j;
  j["schema"] = "rueda-report";
  j["schema_version"] = kReportSchemaVersion;
  j["title"] = report.title;
  j["made_with"] = report.made_with;
  j["findings"] = Json::array();
  for (const Finding& f : report.findings)
    j["findings"].push_back((f.about.empty() ? "" : f.about + ": ") + f.text);
  j["series"] = Json::array();
  for (const SeriesFigures& series : report.series) j["series"].push_back(series_json(series));
  j["tables"] = tables_json(report.tables);
  j["layouts"] = Json::object();
  for (const auto& [name, tables] : report.layouts) j["layouts"][name] = tables_json(tables);
  j["predictions"] = Json::array();
  for (const std::string& text : report.predictions) j["predictions"].push_back(Json::parse(text));
  return j.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

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

}  // namespace

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
