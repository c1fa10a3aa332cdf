#include "commands/predict.hpp"

#include <algorithm>
#include <filesystem>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/text.hpp"
#include "run/run_directory.hpp"
#include "study/study.hpp"
#include "study/table_json.hpp"

namespace rueda {
namespace {

using namespace predict;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostForecastImages = 1'000'000'000;
constexpr double kMostBucketMb = 1e6;

void check_ranges(const PredictOptions& o) {
  require(o.batch_per_rank == 0 || o.global_batch == 0,
          "--batch-per-rank and --global-batch exclude each other: give one of the two");
  require(o.batch_per_rank <= kMostForecastImages && o.global_batch <= kMostForecastImages &&
              o.images <= kMostForecastImages,
          "batches and --images must be at most 1000000000");
  require(o.target.classes <= 100'000, "--classes must be from 0 to 100000");
  const Given& given = o.given;
  require(given.message_noise.value_or(0) <= 1, "--message-noise must be from 0 to 100%");
  const double bucket_mb = o.target.bucket_mb.value_or(0);
  require(bucket_mb >= 0 && bucket_mb <= kMostBucketMb, "--bucket-mb must be from 0 to 1000000");
  require(!given.step_seconds || o.batch_per_rank > 0,
          "--compute is the time of a step of --batch-per-rank images: give that, too");
  require(o.target.links_per_node >= 1, "--links-per-node must be 1 or more");
  require(o.target.ranks_per_node > 0 || (!given.inside_alpha && !given.inside_bandwidth),
          "--inside-alpha and --inside-bandwidth are of the links within a node: give "
          "--ranks-per-node, too");
}

/// "1:13.6s" for an epoch on one rank.
MeasuredEpoch measured_epoch(const std::string& word) {
  const std::size_t colon = word.find(':');
  const std::string subject = "--measured '" + printable(word) + "': ";
  require(colon != std::string::npos,
          subject + "give epoch times by number of ranks, as 1:13.6s,2:8.1s");
  const auto ranks = parse_rank_list("--measured", word.substr(0, colon));
  const double seconds = parse_seconds("--measured", word.substr(colon + 1));
  require(seconds > 0, subject + "the time must be above 0");
  return {ranks.front(), seconds};
}

constexpr std::size_t kUsualImages = 50'000;  // CIFAR-10

/// `remarks` names runs without an epoch, and files that cannot be read.
std::vector<RunResult> read_runs(const PredictOptions& options, std::vector<std::string>& remarks) {
  if (options.runs.empty()) return {};
  Study found = load_study({options.runs.begin(), options.runs.end()});
  for (const RunResult& run : found.empty_runs)
    remarks.push_back(run.file.string() + " has no finished epoch and is left out.");
  for (const Unreadable& file : found.unreadable) remarks.push_back(file.why);
  if (!found.runs.empty()) return std::move(found.runs);
  std::string why = "none of those that were started has a run.json";
  if (!remarks.empty()) why = remarks.front();
  throw InputError("no run to predict from: " + why);
}

using Sums = std::vector<SimulatedSum>;

std::string note_on_balance(const SpeedShares& shares) {
  if (shares.images == 1)
    return "balance: it changes nothing, because the ranks of these runs are equally fast (parts "
           "change where a step becomes 5 % shorter), or had parts by speed.";
  return fmt::format(
      "balance: with parts by speed a mean rank has its images done in {:.1f} % of the time, and "
      "no rank is always late. Fast and slow ranks are taken to be as frequent for each P as in "
      "these runs. P = 1 is a rank of mean speed, so efficiency may exceed 100 %.",
      100 * shares.images);
}

/// The runs, the model that is fitted to them, and what it predicts.
class Prediction {
 public:
  /// Reads the files and fits. Throws InputError.
  explicit Prediction(const PredictOptions& options) : options_(options) {
    std::vector<std::string> remarks;
    runs_ = read_runs(options, remarks);
    const auto benches = values_of(options.benches, read_bench);
    auto fitted = usable_runs(runs_, remarks);
    std::erase_if(fitted, [&](const RunResult& run) {
      const auto& ranks = options.fit_ranks;
      return !ranks.empty() && std::ranges::count(ranks, run.world_size()) == 0;
    });
    if (fitted.empty() && !runs_.empty() && !options.given.step_seconds) {
      std::string why = "--fit-ranks names none of their numbers of ranks";
      if (!remarks.empty()) why = remarks.front();
      throw InputError("none of the runs can be fitted to: " + why +
                       "; give other runs, or --compute with the time of a step");
    }
    fit_ = fit_cost(fitted, benches, options.target, options.given);
    fit_.notes.insert(fit_.notes.begin(), remarks.begin(), remarks.end());
    certainty_ = certainty_of(fitted, fit_, benches, options.target, options.given);
  }

  std::vector<Table> tables() const {
    const Sums sums = simulated_sums(fit_.model);
    std::vector<Table> tables = {forecast(fit_.model, certainty_, sums)};
    if (!options_.changes.empty()) tables.push_back(changed_forecast());
    Table measured = comparison_table(runs_, fit_, certainty_, options_.fit_ranks);
    if (!measured.rows.empty()) tables.push_back(std::move(measured));
    if (!options_.epochs.empty()) tables.push_back(losses());
    if (!sums.empty()) tables.push_back(simulation_table(sums, fit_.model.message_noise));
    tables.push_back(fit_table(fit_));
    return tables;
  }

 private:
  /// The run that the scenario follows where nothing is given.
  const RunResult* example() const {
    const auto found = std::ranges::find(runs_, fit_.network, model_of);
    if (found != runs_.end()) return &*found;
    if (runs_.empty()) return nullptr;
    return &runs_.front();
  }

  /// The scenario on so many ranks: by the options, else as the runs had it.
  /// Throws InputError where neither says, and for more ranks than images.
  Scenario scenario_on(std::size_t ranks) const {
    const RunResult* run = example();
    std::size_t images = kUsualImages;
    if (run != nullptr) images = run->train_images;
    if (options_.images > 0) images = options_.images;
    require(ranks <= images,
            fmt::format("--ranks {}: more than the {} images of an epoch; give fewer, or --images",
                        ranks, images));
    const bool no_batch = options_.global_batch == 0 && options_.batch_per_rank == 0;
    require(!no_batch || run != nullptr,
            "no run and no batch: give --batch-per-rank or --global-batch");
    std::size_t global_batch = options_.global_batch;
    if (no_batch) global_batch = run->rank_batches.front() * ranks;
    if (options_.batch_per_rank > 0) global_batch = options_.batch_per_rank * ranks;
    bool overlap = options_.overlap == Overlap::on;
    if (options_.overlap == Overlap::automatic)
      overlap = std::ranges::any_of(runs_, &RunResult::overlaps);
    return {.ranks = ranks,
            .global_batch = global_batch,
            .images = images,
            .scheme = options_.scheme,
            .overlap = overlap};
  }

  /// One by number of ranks; none if nothing is to be simulated.
  Sums simulated_sums(const CostModel& model) const {
    Sums sums;
    for (const std::size_t ranks : options_.ranks)
      if (options_.simulate) sums.push_back(simulate_sum(model, ranks, options_.seed));
    return sums;
  }

  bool is_noisy() const { return options_.simulate && options_.scheme == Scheme::ring; }

  void add_limits(Table& table) const {
    std::size_t most = 0;
    for (const RunResult& run : runs_) most = std::max(most, run.world_size());
    if (most > 0 && options_.ranks.back() > most) {
      table.notes.push_back(
          fmt::format("Above P = {}, the most that was run, the prediction assumes "
                      "that links, switches and file systems keep up.",
                      most));
    }
    if (is_noisy()) table.notes.emplace_back("The ring's messages are noisy, as simulated.");
  }

  Table forecast(const CostModel& model, const Certainty& certainty, const Sums& sums) const {
    Forecasts forecasts;
    const auto one_rank = forecast_epoch(model, scenario_on(1));
    for (std::size_t i = 0; i < options_.ranks.size(); ++i) {
      Scenario scenario = scenario_on(options_.ranks[i]);
      if (is_noisy()) scenario.message_delay = sums[i].delay(model.machine.gamma);
      forecasts.push_back({forecast_epoch(model, scenario)});
      forecasts.back().plus_minus = certainty.of(model, scenario, one_rank.scenario);
    }
    Table table = forecast_table(forecasts, one_rank, options_.costs);
    const Scenario& scenario = forecasts.front().scenario;
    table.title += fmt::format(" of {}, {} images, {}, overlap {}", fit_.network, scenario.images,
                               to_string(options_.scheme), scenario.overlap ? "on" : "off");
    add_limits(table);
    const auto is_widened = [&](const Forecast& f) { return certainty.is_widened(f.scenario); };
    if (std::ranges::any_of(forecasts, is_widened)) table.notes.push_back(certainty.note());
    return table;
  }

  /// The same on the machine that --what-if asks for.
  Table changed_forecast() const {
    CostModel model = fit_.model;
    Certainty certainty = certainty_;
    for (const Change& change : options_.changes) {
      change.apply(model, change);
      for (CostModel& other : certainty.without_one) change.apply(other, change);
    }
    Table table = forecast(model, certainty, simulated_sums(model));
    table.id += "_what_if";
    table.title += ", with " + options_.what_if;
    if (model.shares_by_speed) table.notes.push_back(note_on_balance(*model.by_speed));
    return table;
  }

  Table losses() const {
    const auto scenario = [this](const auto& epoch) { return scenario_on(epoch.ranks); };
    return loss_table(fit_.model, options_.epochs, values_of(options_.epochs, scenario));
  }

  const PredictOptions& options_;
  std::vector<RunResult> runs_;  ///< all that were given
  CostFit fit_;
  Certainty certainty_;
};

constexpr int kFormat = 1;
Json table_json(const Table& table) {
  return {{"title", table.title}, {"rows", rows_json(table)}, {"notes", table.notes}};
}

std::string json_of(const std::vector<Table>& tables) {
  Json json = {{"rueda_predict", kFormat}};
  for (const Table& table : tables) json[table.id] = table_json(table);
  return text_of(json, 1) + '\n';
}

/// The measured runs as Extra-P reads them, an object a line. All runs with or without overlap
/// share a call path, in which P is the parameter.
std::string extra_p_of(const std::vector<Table>& tables) {
  std::string lines;
  const auto measured = std::ranges::find(tables, "measured", &Table::id);
  require(
      measured != tables.end(),
      "--extra-p: no run is of this network and image size; give such runs, or another --model");
  for (const auto& row : measured->rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::string_view metric = measured->columns[i].key;
      if (!take(metric, "measured_") || !row[i].is_number()) continue;
      lines += text_of({{"params", {{"p", std::size_t(row[0].number())}}},
                        {"callpath", "overlap " + row[2].text()},
                        {"metric", metric},
                        {"value", row[i].number()}}) +
               '\n';
    }
  }
  return lines;
}

void write_folder(const std::string& folder, const std::vector<Table>& tables) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::filesystem::path at(folder);
  check_output_file("--out", (at / "predict.md").string());
  std::string text = "# Prediction\n";
  for (const Table& table : tables) {
    text += '\n' + to_markdown(table);
    write_output(at / (table.id + ".csv"), to_csv(table));
  }
  write_output(at / "predict.md", text);
  write_output(at / "predict.json", json_of(tables));
}

}  // namespace

void validate(PredictOptions& o) {
  o.ranks = parse_rank_list("--ranks", o.rank_words);
  if (o.cross_validate) o.fit_ranks = {1, 2};
  if (!o.fit_rank_words.empty()) o.fit_ranks = parse_rank_list("--fit-ranks", o.fit_rank_words);
  check_ranges(o);
  o.given.batch = o.batch_per_rank;
  o.changes = parse_changes(o.what_if);
  for (const std::string& word : split_words(o.measured)) {
    if (!o.measured.empty()) o.epochs.push_back(measured_epoch(word));
  }
  require((!o.cross_validate && o.extra_p.empty()) || !o.runs.empty(),
          "--cross-validate and --extra-p need runs: give their directories");
  require(o.costs.per_rank_hour.value_or(0) >= 0, "--price must be 0 or more");
  require(o.costs.watts.value_or(0) >= 0, "--watts must be 0 or more");
  o.costs.least_efficiency = parse_share("--efficiency", o.least_efficiency);
}

void run_command(const PredictOptions& options, std::ostream& out) {
  check_output_file("--json", options.json);
  check_output_file("--extra-p", options.extra_p);
  const auto tables = Prediction(options).tables();
  for (const Table& table : tables) out << to_text(table) << '\n';
  if (!options.json.empty()) write_output(options.json, json_of(tables));
  if (!options.extra_p.empty()) write_output(options.extra_p, extra_p_of(tables));
  if (!options.out.empty()) write_folder(options.out, tables);
}

}  // namespace rueda
