#include "predict.hpp"

#include <algorithm>
#include <filesystem>
#include <ostream>

#include <nlohmann/json.hpp>

#include "../output_file.hpp"
#include "rueda/core/atomic_file.hpp"
#include "rueda/predict/simulated_sum.hpp"
#include "study.hpp"

namespace rueda {
namespace {

using namespace predict;
using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
void remark_on_reach(Table& table, const PredictOptions& options, const PredictStudy& study) {
  std::size_t most = 0;
  for (const RunResult& run : study.runs) most = std::max(most, run.world_size());
  if (most > 0 && options.ranks.back() > most) {
    table.notes.push_back("Above P = " + std::to_string(most) +
                          ", the most that was run, nothing shows that links, switches and files "
                          "keep up: it is the model's word alone.");
  }
  if (options.simulate && options.scheme == Scheme::ring) {
    table.notes.emplace_back("The ring's messages are noisy, as simulated.");
  }
}

void add_forecast(std::vector<Table>& tables, const PredictOptions& options,
                  const PredictStudy& study, const std::vector<SimulatedSum>& sums) {
  std::vector<EpochForecast> forecasts;
  for (std::size_t i = 0; i < options.ranks.size(); ++i) {
    Scenario scenario = scenario_on(options, study, options.ranks[i]);
    if (!sums.empty() && options.scheme == Scheme::ring) {
      scenario.message_delay = sums[i].delay(study.fit.model.machine.gamma);
    }
    forecasts.push_back(forecast_epoch(study.fit.model, scenario));
  }
  const auto one_rank = forecast_epoch(study.fit.model, scenario_on(options, study, 1));
  tables.push_back(forecast_table(forecasts, one_rank, options.costs));
  const Scenario& scenario = forecasts.front().scenario;
  tables.back().title += " of " + study.fit.network + ", " + std::to_string(scenario.images) +
                         " images, " + to_string(options.scheme) + ", overlap " +
                         (scenario.overlap ? "on" : "off");
  remark_on_reach(tables.back(), options, study);
}

void add_losses(std::vector<Table>& tables, const PredictOptions& options,
                const PredictStudy& study) {
  std::vector<Scenario> scenarios;
  for (const MeasuredEpoch& epoch : options.epochs) {
    scenarios.push_back(scenario_on(options, study, epoch.ranks));
  }
  tables.push_back(loss_table(explain_losses(study.fit.model, options.epochs, scenarios)));
}

std::vector<Table> tables_of(const PredictOptions& options, const PredictStudy& study) {
  std::vector<Table> tables;
  std::vector<SimulatedSum> sums;
  if (options.simulate) {
    for (const std::size_t ranks : options.ranks) {
      sums.push_back(simulate_sum(study.fit.model, ranks, options.seed));
    }
  }
  add_forecast(tables, options, study, sums);
  const auto comparisons = compare(study.runs, study.fitted, options.fit_ranks);
  if (!comparisons.empty()) tables.push_back(comparison_table(comparisons));
  if (!options.epochs.empty()) add_losses(tables, options, study);
  if (!sums.empty()) tables.push_back(simulation_table(sums, study.fit.model.message_noise));
  tables.push_back(fit_table(study.fit));
  return tables;
}

Json cell_json(const Cell& cell) {
  if (cell.is_number()) return cell.number();
  return cell.text().empty() ? Json() : Json(cell.text());
}

Json table_json(const Table& table) {
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json one = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) one[table.columns[i].key] = cell_json(row[i]);
    rows.push_back(one);
  }
  return {{"title", table.title}, {"rows", rows}, {"notes", table.notes}};
}

std::string json_of(const std::vector<Table>& tables) {
  Json json = {{"rueda_predict", kFormat}};
  for (const Table& table : tables) json[table.id] = table_json(table);
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

void write_folder(const std::string& folder, const std::vector<Table>& tables) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::filesystem::path at(folder);
  check_output_file("--out", (at / "predict.md").string());
  std::string text = "# Prediction\n";
  for (const Table& table : tables) {
    text += '\n' + to_markdown(table);
    write_atomically(at / (table.id + ".csv"), to_csv(table));
  }
  write_atomically(at / "predict.md", text);
  write_atomically(at / "predict.json", json_of(tables));
}

}  // namespace

void run_predict(const PredictOptions& options, std::ostream& out) {
  check_output_file("--json", options.json);
  const PredictStudy study = read_study(options);
  const auto tables = tables_of(options, study);
  for (const Table& table : tables) out << to_text(table) << '\n';
  if (!options.json.empty()) write_atomically(options.json, json_of(tables));
  if (!options.out.empty()) write_folder(options.out, tables);
}

}  // namespace rueda
