#include "commands/forecast/forecast.hpp"

#include <iostream>
#include <iterator>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "commands/forecast/questions.hpp"
#include "model/flops.hpp"
#include "model/registry.hpp"

namespace rueda {
namespace {

using cost::CostModel;
using cost::EpochForecast;
using Json = nlohmann::ordered_json;

Json network_json(const NetworkQuestion& network) {
  const Graph graph = build_model(network.model, network.image_size, network.classes);
  return {{"training_flops", training_flops(graph)}, {"parameters", graph.parameter_count()}};
}

Json step_json(const cost::StepForecast& step) {
  return {{"seconds", step.seconds()}, {"compute", step.compute},
          {"rest", step.rest},         {"straggling", step.straggling},
          {"exposed", step.exposed},   {"all_reduce", step.all_reduce}};
}

Json epoch_json(const EpochForecast& epoch) {
  return {{"seconds", epoch.seconds},
          {"full_steps", epoch.full_steps},
          {"partial_images", epoch.partial_images},
          {"full", step_json(epoch.full)},
          {"partial", step_json(epoch.partial)}};
}

/// Gives models their buckets, one schedule after another, and keeps how late the slowest of so
/// many ranks is, which takes long where a noise has many values.
class Forecaster {
 public:
  explicit Forecaster(const ForecastQuestions& questions) : questions_(questions) {}

  EpochForecast epoch(std::size_t model, std::size_t scenario) {
    const ScheduledScenario& asked = questions_.scenarios[scenario];
    return forecast_epoch(with_buckets(model, asked.schedule), asked.scenario);
  }

  const CostModel& with_buckets(std::size_t model, std::size_t schedule) {
    const auto [found, is_new] = models_.try_emplace({model, schedule}, questions_.models[model]);
    if (is_new) found->second.buckets = questions_.schedules[schedule];
    return found->second;
  }

 private:
  const ForecastQuestions& questions_;
  std::map<std::pair<std::size_t, std::size_t>, CostModel> models_;
};

/// Rows are models, columns scenarios.
Json grid_json(const GridQuestion& grid, Forecaster& forecaster) {
  Json seconds = Json::array(), all_reduce = Json::array();
  for (const std::size_t model : grid.models) {
    std::vector<double> of_epochs, of_sums;
    for (const std::size_t scenario : grid.scenarios) {
      const EpochForecast epoch = forecaster.epoch(model, scenario);
      of_epochs.push_back(epoch.seconds);
      of_sums.push_back(epoch.full.all_reduce);
    }
    seconds.push_back(of_epochs);
    all_reduce.push_back(of_sums);
  }
  return {{"seconds", std::move(seconds)}, {"all_reduce", std::move(all_reduce)}};
}

Json simulation_json(const SimulationQuestion& asked, Forecaster& forecaster) {
  const CostModel& model = forecaster.with_buckets(asked.model, asked.schedule);
  const cost::SimulatedSum sum = simulate_sum(model, asked.ranks, asked.seed);
  return {{"ranks", sum.ranks},
          {"bytes", sum.bytes},
          {"closed", sum.closed},
          {"quiet", sum.quiet},
          {"noisy", sum.noisy},
          {"rings", sum.rings},
          {"delay", sum.delay(model.machine.gamma)}};
}

}  // namespace

std::string forecast_answers(std::string_view text) {
  const InputFile input{{}, "standard input", "give questions as rueda predict writes them"};
  const Json json = parse_json(text, input);
  const ForecastQuestions questions = read_questions({json, input});
  Forecaster forecaster(questions);
  Json answers = {{"rueda_forecast", kForecastVersion}};
  for (const char* name : {"networks", "sums", "epochs", "simulations", "balances"})
    answers[name] = Json::array();
  for (const NetworkQuestion& asked : questions.networks)
    answers["networks"].push_back(network_json(asked));
  for (const SumQuestion& asked : questions.sums)
    answers["sums"].push_back(all_reduce_seconds(asked.scheme, questions.machines[asked.machine],
                                                 asked.ranks, asked.bytes));
  for (const EpochQuestion& asked : questions.epochs)
    answers["epochs"].push_back(epoch_json(forecaster.epoch(asked.model, asked.scenario)));
  for (const SimulationQuestion& asked : questions.simulations)
    answers["simulations"].push_back(simulation_json(asked, forecaster));
  for (const BalanceQuestion& asked : questions.balances)
    answers["balances"].push_back(steadily_rebalanced_images(asked.costs, asked.images));
  answers["grid"] = grid_json(questions.grid, forecaster);
  return text_of(answers) + '\n';
}

void run_command(const ForecastOptions&, std::ostream& out) {
  std::string text;
  for (char byte = 0; text.size() <= kMostJsonBytes && std::cin.get(byte);) text += byte;
  if (text.size() > kMostJsonBytes)
    throw InputError("standard input: it has more than 256 MB; ask less at once");
  out << forecast_answers(text);
}

}  // namespace rueda
