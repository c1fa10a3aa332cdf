#include "predict.hpp"

#include <algorithm>
#include <filesystem>
#include <ostream>

#include <nlohmann/json.hpp>

#include "rueda/core/error.hpp"
#include "rueda/core/files.hpp"
#include "rueda/study/study.hpp"
#include "run/run_directory.hpp"

namespace rueda {
namespace {

using namespace predict;
using Json = nlohmann::ordered_json;

/// The runs and the model that is fitted to them.
struct PredictStudy {
  std::vector<RunResult> runs;  ///< all that were given
  CostFit fit;
};

constexpr std::size_t kUsualImages = 50'000;  // CIFAR-10

std::vector<RunResult> on_ranks(const std::vector<RunResult>& runs,
                                const std::vector<std::size_t>& ranks) {
  std::vector<RunResult> chosen;
  for (const RunResult& run : runs) {
    if (ranks.empty() || std::ranges::count(ranks, run.world_size()) > 0) chosen.push_back(run);
  }
  return chosen;
}

/// `remarks` names runs without an epoch, and files that cannot be read.
void read_runs(const std::vector<std::string>& places, std::vector<RunResult>& runs,
               std::vector<std::string>& remarks) {
  if (places.empty()) return;
  Study found = load_study({places.begin(), places.end()});
  runs = std::move(found.runs);
  for (const RunResult& run : found.empty_runs) {
    remarks.push_back(run.file.string() + " has no finished epoch and is left out.");
  }
  for (const Unreadable& file : found.unreadable) remarks.push_back(file.why);
  if (runs.empty()) {
    throw InputError(
        "no run to predict from: " +
        (remarks.empty() ? "none of those that were started has a run.json" : remarks.front()));
  }
}

/// The run that the scenario follows where nothing is given.
const RunResult* example(const PredictStudy& study) {
  const auto is_it = [&](const RunResult& run) { return run.model == study.fit.network; };
  const auto found = std::ranges::find_if(study.runs, is_it);
  if (found != study.runs.end()) return &*found;
  return study.runs.empty() ? nullptr : &study.runs.front();
}

bool overlaps(const PredictOptions& options, const PredictStudy& study) {
  if (options.overlap != OverlapChoice::as_runs) return options.overlap == OverlapChoice::on;
  return std::ranges::any_of(study.runs, &RunResult::overlaps);
}

std::size_t batch_of_rank(const PredictOptions& options, const RunResult* run) {
  if (options.batch_per_rank > 0) return options.batch_per_rank;
  if (run != nullptr) return run->rank_batches.front();
  throw InputError("no run and no batch: give --batch-per-rank or --global-batch");
}

std::size_t images_of(const PredictOptions& options, const RunResult* run) {
  if (options.images > 0) return options.images;
  return run != nullptr ? run->train_images : kUsualImages;
}

/// Reads the files and fits. Throws InputError.
PredictStudy read_study(const PredictOptions& options) {
  PredictStudy study;
  std::vector<std::string> remarks;
  read_runs(options.runs, study.runs, remarks);
  std::vector<BenchResult> benches;
  for (const std::string& file : options.benches) benches.push_back(read_bench(file));
  const auto usable = usable_runs(study.runs, remarks);
  const auto fitted = on_ranks(usable, options.fit_ranks);
  if (fitted.empty() && !study.runs.empty() && !options.given.step_seconds) {
    throw InputError(
        "none of the runs can be fitted to: " +
        (remarks.empty() ? "--fit-ranks names none of their numbers of ranks" : remarks.front()));
  }
  study.fit = fit_cost(fitted, benches, options.target, options.given);
  study.fit.notes.insert(study.fit.notes.begin(), remarks.begin(), remarks.end());
  return study;
}

/// The scenario on so many ranks: by the options, else as the runs had it. Throws InputError where
/// neither says, and for more ranks than images.
Scenario scenario_on(const PredictOptions& options, const PredictStudy& study, std::size_t ranks) {
  const RunResult* run = example(study);
  const std::size_t images = images_of(options, run);
  if (ranks > images) {
    throw InputError("--ranks " + std::to_string(ranks) + ": more than the " +
                     std::to_string(images) + " images of an epoch; give fewer, or --images");
  }
  const std::size_t global =
      options.global_batch > 0 ? options.global_batch : batch_of_rank(options, run) * ranks;
  return {.ranks = ranks,
          .global_batch = global,
          .images = images,
          .micro_batches = 1,
          .scheme = options.scheme,
          .overlap = overlaps(options, study)};
}

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

void add_limits(Table& table, const PredictOptions& options, const PredictStudy& study) {
  std::size_t most = 0;
  for (const RunResult& run : study.runs) most = std::max(most, run.world_size());
  if (most > 0 && options.ranks.back() > most) {
    table.notes.push_back("Above P = " + std::to_string(most) +
                          ", the most that was run, the prediction assumes that links, switches "
                          "and file systems keep up.");
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
  add_limits(table, options, study);
  return table;
}

/// The same on the machine that --what-if asks for.
Table changed_forecast(const PredictOptions& options, const PredictStudy& study) {
  CostModel model = study.fit.model;
  for (const Change& change : options.changes) change.apply(model, change);
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

constexpr int kFormat = 1;
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
  const auto tables = prediction_tables(options, read_study(options));
  for (const Table& table : tables) out << to_text(table) << '\n';
  if (!options.json.empty()) write_atomically(options.json, json_of(tables));
  if (!options.out.empty()) write_folder(options.out, tables);
}

}  // namespace rueda
