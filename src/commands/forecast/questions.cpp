#include "commands/forecast/questions.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.hpp"
#include "model/registry.hpp"

namespace rueda {
namespace {

using cost::ComputeModel;
using cost::CostModel;
using cost::Distribution;
using cost::Link;
using cost::Machine;
using cost::Scheme;

constexpr std::size_t kMostRanks = 16'384;
constexpr double kMostOfAnEpoch = 1e12;
constexpr double kMostMegabytes = 1e6;

/// Seconds, bytes, shares.
double amount(const JsonView& j, const char* name) {
  const double value = j.number(name);
  if (!std::isfinite(value) || value < 0) j.at(name).refuse("is not a number from 0 on");
  return value;
}

std::size_t count_to(const JsonView& j, double most) { return std::size_t(j.whole(1, most)); }

/// The number of an element of a list of `size`.
std::size_t index_in(const JsonView& j, std::size_t size) {
  if (size == 0) j.refuse("names an element of an empty list");
  return std::size_t(j.whole(0, double(size - 1)));
}

std::vector<std::size_t> indices_in(const JsonView& j, const char* name, std::size_t size) {
  std::vector<std::size_t> indices;
  for (const JsonView& one : j.items(name)) indices.push_back(index_in(one, size));
  return indices;
}

Scheme scheme_named(const JsonView& j) {
  const std::string word = j.text();
  constexpr auto words = words_of(Scheme{});
  for (std::size_t i = 0; i < words.size(); ++i)
    if (word == words.at(i)) return Scheme(i);
  j.refuse("is no algorithm of rueda predict");
}

NetworkQuestion network_of(const JsonView& j) {
  constexpr double kMostPixels = 4096;
  constexpr double kMostClasses = 100'000;
  return {j.text("model"), int(j.at("image_size").whole(1, kMostPixels)),
          int(j.at("classes").whole(1, kMostClasses))};
}

std::vector<cost::Bucket> schedule_of_question(const JsonView& j) {
  const NetworkQuestion network = network_of(j);
  const Graph graph = build_model(network.model, network.image_size, network.classes);
  if (j.has("bucket_bytes")) {
    std::vector<std::size_t> bytes;
    for (const JsonView& one : j.at("bucket_bytes").elements()) bytes.push_back(one.count());
    if (bytes.empty()) j.at("bucket_bytes").refuse("is empty");
    return cost::bucket_schedule(graph, bytes);
  }
  const double mb = amount(j, "bucket_mb");
  if (mb > kMostMegabytes) j.at("bucket_mb").refuse("is above 1000000");
  return cost::bucket_schedule(graph, std::size_t(mb * 1e6));
}

Distribution distribution_of(const JsonView& j) {
  if (j.has("spread")) {
    const JsonView s = j.at("spread");
    return Distribution::of_spread({.count = 1,
                                    .min = amount(s, "min"),
                                    .median = amount(s, "median"),
                                    .p90 = amount(s, "p90"),
                                    .max = amount(s, "max")});
  }
  std::vector<double> values;
  for (const JsonView& value : j.at("values").elements()) values.push_back(value.number());
  if (values.empty()) j.at("values").refuse("is empty");
  return Distribution::of_sample(std::move(values));
}

Distribution noise_of(const JsonView& j) {
  Distribution noise = distribution_of(j);
  if (!(noise.mean() > 0)) j.refuse("has no mean above 0");
  if (!j.has("spread_by")) return noise;
  return noise.spread_by(amount(j, "spread_by"));
}

Link link_of_question(const JsonView& j) { return {amount(j, "alpha"), amount(j, "beta")}; }

Machine machine_of_question(const JsonView& j) {
  return {.inside = link_of_question(j.at("inside")),
          .between = link_of_question(j.at("between")),
          .gamma = amount(j, "gamma"),
          .ranks_per_node = j.positive("ranks_per_node"),
          .links_per_node = j.positive("links_per_node")};
}

ComputeModel compute_of_question(const JsonView& j) {
  return {.fixed = amount(j, "fixed"),
          .per_image = amount(j, "per_image"),
          .backward_share = amount(j, "backward_share"),
          .input_per_image = amount(j, "input_per_image"),
          .update = amount(j, "update")};
}

std::vector<double> factors_of_question(const JsonView& j) {
  constexpr std::size_t kMostFactors = 64;  // a forecast takes time proportional to them
  std::vector<double> factors;
  for (const JsonView& one : j.elements()) {
    factors.push_back(one.number());
    if (!(factors.back() > 0)) one.refuse("is not a number above 0");
  }
  if (factors.size() > kMostFactors) j.refuse("has more than 64 elements");
  std::ranges::sort(factors);
  return factors;
}

/// Images of each rank.
std::vector<std::size_t> parts_of_question(const JsonView& j, const cost::Scenario& scenario) {
  std::vector<std::size_t> parts;
  for (const JsonView& one : j.elements()) parts.push_back(one.count());
  const std::size_t images = std::accumulate(parts.begin(), parts.end(), std::size_t{0});
  if (parts.empty()) return parts;
  if (parts.size() != scenario.ranks || images != scenario.global_batch)
    j.refuse("has not a part for each rank that add up to the global batch");
  return parts;
}

CostModel model_of_question(const JsonView& j, const std::vector<Machine>& machines,
                            const std::vector<Distribution>& noises) {
  CostModel model;
  model.compute = compute_of_question(j.at("compute"));
  model.machine = machines[index_in(j.at("machine"), machines.size())];
  if (j.has("noise")) model.noise = noises[index_in(j.at("noise"), noises.size())];
  if (j.has("message_noise")) model.message_noise = amount(j, "message_noise");
  if (model.message_noise > 1) j.at("message_noise").refuse("is above 1");
  if (j.has("rank_factors")) model.rank_factors = factors_of_question(j.at("rank_factors"));
  if (j.has("shares_by_speed")) model.shares_by_speed = j.at("shares_by_speed").flag();
  return model;
}

ScheduledScenario scenario_of_question(const JsonView& j, std::size_t schedules) {
  cost::Scenario s{.ranks = count_to(j.at("ranks"), kMostRanks),
                   .global_batch = count_to(j.at("global_batch"), kMostOfAnEpoch),
                   .images = count_to(j.at("images"), kMostOfAnEpoch)};
  if (j.has("micro_batches")) s.micro_batches = count_to(j.at("micro_batches"), kMostOfAnEpoch);
  if (j.has("algorithm")) s.scheme = scheme_named(j.at("algorithm"));
  if (j.has("overlap")) s.overlap = j.at("overlap").flag();
  if (j.has("parts")) s.parts = parts_of_question(j.at("parts"), s);
  if (j.has("message_delay")) s.message_delay = amount(j, "message_delay");
  return {s, index_in(j.at("schedule"), schedules)};
}

SumQuestion sum_of_question(const JsonView& j, std::size_t machines) {
  return {index_in(j.at("machine"), machines), scheme_named(j.at("algorithm")),
          count_to(j.at("ranks"), kMostRanks), amount(j, "bytes")};
}

SimulationQuestion simulation_of(const JsonView& j, const ForecastQuestions& questions) {
  return {index_in(j.at("model"), questions.models.size()),
          index_in(j.at("schedule"), questions.schedules.size()),
          count_to(j.at("ranks"), kMostRanks), j.count("seed")};
}

RankCost rank_cost_of(const JsonView& j) {
  const RankCost cost{amount(j, "fixed"), amount(j, "per_image")};
  if (cost.per_image == 0) j.at("per_image").refuse("is not above 0");
  return cost;
}

/// All images together are at most those of an epoch.
BalanceQuestion balance_of_question(const JsonView& j) {
  BalanceQuestion question;
  for (const JsonView& one : j.at("images").elements())
    question.images.push_back(count_to(one, kMostOfAnEpoch / double(kMostRanks)));
  for (const JsonView& one : j.at("costs").elements())
    question.costs.push_back({rank_cost_of(one.at("all")), rank_cost_of(one.at("first_half")),
                              rank_cost_of(one.at("second_half"))});
  if (question.costs.empty() || question.costs.size() > kMostRanks)
    j.at("costs").refuse("has not from 1 to 16384 elements");
  if (question.costs.size() != question.images.size())
    j.at("images").refuse("has not a number for each of the costs");
  return question;
}

GridQuestion grid_of_question(const JsonView& j, const ForecastQuestions& questions) {
  constexpr std::size_t kMostEpochs = 10'000'000;  // ten seconds
  GridQuestion grid{indices_in(j, "models", questions.models.size()),
                    indices_in(j, "scenarios", questions.scenarios.size())};
  if (grid.models.size() * grid.scenarios.size() > kMostEpochs)
    j.refuse("has more than 10000000 epochs");
  return grid;
}

}  // namespace

ForecastQuestions read_questions(const JsonView& j) {
  j.require_version("rueda_forecast", kForecastVersion);
  ForecastQuestions questions;
  std::vector<Distribution> noises;
  for (const JsonView& one : j.items("networks")) questions.networks.push_back(network_of(one));
  for (const JsonView& one : j.items("noises")) noises.push_back(noise_of(one));
  for (const JsonView& one : j.items("machines"))
    questions.machines.push_back(machine_of_question(one));
  for (const JsonView& one : j.items("schedules"))
    questions.schedules.push_back(schedule_of_question(one));
  for (const JsonView& one : j.items("models"))
    questions.models.push_back(model_of_question(one, questions.machines, noises));
  for (const JsonView& one : j.items("scenarios"))
    questions.scenarios.push_back(scenario_of_question(one, questions.schedules.size()));
  for (const JsonView& one : j.items("epochs"))
    questions.epochs.push_back({index_in(one.at("model"), questions.models.size()),
                                index_in(one.at("scenario"), questions.scenarios.size())});
  for (const JsonView& one : j.items("sums"))
    questions.sums.push_back(sum_of_question(one, questions.machines.size()));
  for (const JsonView& one : j.items("simulations"))
    questions.simulations.push_back(simulation_of(one, questions));
  for (const JsonView& one : j.items("balances"))
    questions.balances.push_back(balance_of_question(one));
  if (j.has("grid")) questions.grid = grid_of_question(j.at("grid"), questions);
  return questions;
}

}  // namespace rueda
