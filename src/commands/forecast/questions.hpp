#pragma once

#include <cstddef>
#include <vector>

#include "base/json/json_view.hpp"
#include "train/balance.hpp"
#include "train/forecast/forecast.hpp"

namespace rueda {

/// Of questions and answers, in both: raised whenever either changes, because reader and program
/// may be of different installations.
inline constexpr std::size_t kForecastVersion = 2;

/// A network by its numbers.
struct NetworkQuestion {
  std::string model;
  int image_size = 32;
  int classes = 10;
};

/// An epoch of a scenario, whose buckets are those of a schedule.
struct EpochQuestion {
  std::size_t model = 0, scenario = 0;
};

/// Epochs of each of these models in each of these scenarios.
struct GridQuestion {
  std::vector<std::size_t> models, scenarios;
};

/// One sum on a machine.
struct SumQuestion {
  std::size_t machine = 0;
  cost::Scheme scheme = cost::Scheme::ring;
  std::size_t ranks = 1;
  double bytes = 0;
};

/// The largest bucket of a schedule on a noisy ring.
struct SimulationQuestion {
  std::size_t model = 0, schedule = 0;
  std::size_t ranks = 1;
  std::uint64_t seed = 1;
};

/// Ranks with these costs and images: which images --balance speed would give them.
struct BalanceQuestion {
  std::vector<MeasuredCost> costs;  ///< by rank
  std::vector<std::size_t> images;
};

/// A scenario, and which schedule has its buckets.
struct ScheduledScenario {
  cost::Scenario scenario;
  std::size_t schedule = 0;
};

/// What a text asks for. Indices are checked.
struct ForecastQuestions {
  std::vector<NetworkQuestion> networks;
  std::vector<cost::Machine> machines;
  std::vector<std::vector<cost::Bucket>> schedules;
  std::vector<cost::CostModel> models;  ///< without buckets
  std::vector<ScheduledScenario> scenarios;
  std::vector<EpochQuestion> epochs;
  std::vector<SumQuestion> sums;
  std::vector<SimulationQuestion> simulations;
  std::vector<BalanceQuestion> balances;
  GridQuestion grid;
};

/// Throws InputError naming the place in the text.
ForecastQuestions read_questions(const JsonView& json);

}  // namespace rueda
