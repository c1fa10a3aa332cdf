#include "prediction_tables.hpp"

#include <algorithm>

#include "rueda/predict/simulated_sum.hpp"

namespace rueda {
namespace {

using namespace predict;
using Sums = std::vector<SimulatedSum>;

/// One by number of ranks; none if nothing is to be simulated.
Sums simulated_sums(const PredictOptions& options, const CostModel& model) {
  Sums sums;
  if (!options.simulate) return sums;
  for (const std::size_t ranks : options.ranks) {
    sums.push_back(simulate_sum(model, ranks, options.seed));
  }
  return sums;
}

bool is_noisy(const PredictOptions& options) {
  return options.simulate && options.scheme == Scheme::ring;
}

void remark_on_reach(Table& table, const PredictOptions& options, const PredictStudy& study) {
  std::size_t most = 0;
  for (const RunResult& run : study.runs) most = std::max(most, run.world_size());
  if (most > 0 && options.ranks.back() > most) {
    table.notes.push_back("Above P = " + std::to_string(most) +
                          ", the most that was run, nothing shows that links, switches and files "
                          "keep up: it is the model's word alone.");
  }
  if (is_noisy(options)) table.notes.emplace_back("The ring's messages are noisy, as simulated.");
}

Table forecast_of(const PredictOptions& options, const PredictStudy& study, const CostModel& model,
                  const Sums& sums) {
  std::vector<EpochForecast> forecasts;
  for (std::size_t i = 0; i < options.ranks.size(); ++i) {
    Scenario scenario = scenario_on(options, study, options.ranks[i]);
    if (is_noisy(options)) scenario.message_delay = sums[i].delay(model.machine.gamma);
    forecasts.push_back(forecast_epoch(model, scenario));
  }
  const auto one_rank = forecast_epoch(model, scenario_on(options, study, 1));
  Table table = forecast_table(forecasts, one_rank, options.costs);
  const Scenario& scenario = forecasts.front().scenario;
  table.title += " of " + study.fit.network + ", " + std::to_string(scenario.images) + " images, " +
                 to_string(options.scheme) + ", overlap " + (scenario.overlap ? "on" : "off");
  remark_on_reach(table, options, study);
  return table;
}

/// The same on the machine that --what-if asks for.
Table changed_forecast(const PredictOptions& options, const PredictStudy& study) {
  CostModel model = study.fit.model;
  for (const Change& change : options.changes) apply(change, model);
  Table table = forecast_of(options, study, model, simulated_sums(options, model));
  table.id += "_what_if";
  table.title += ", with " + options.what_if;
  return table;
}

Table losses_of(const PredictOptions& options, const PredictStudy& study) {
  std::vector<Scenario> scenarios;
  for (const MeasuredEpoch& epoch : options.epochs) {
    scenarios.push_back(scenario_on(options, study, epoch.ranks));
  }
  return loss_table(explain_losses(study.fit.model, options.epochs, scenarios));
}

}  // namespace

std::vector<Table> prediction_tables(const PredictOptions& options, const PredictStudy& study) {
  const Sums sums = simulated_sums(options, study.fit.model);
  std::vector<Table> tables = {forecast_of(options, study, study.fit.model, sums)};
  if (!options.changes.empty()) tables.push_back(changed_forecast(options, study));
  const auto comparisons = compare(study.runs, study.fit, options.fit_ranks);
  if (!comparisons.empty()) tables.push_back(comparison_table(comparisons));
  if (!options.epochs.empty()) tables.push_back(losses_of(options, study));
  if (!sums.empty()) tables.push_back(simulation_table(sums, study.fit.model.message_noise));
  tables.push_back(fit_table(study.fit));
  return tables;
}

}  // namespace rueda
