#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "rueda/predict/comparison.hpp"
#include "rueda/predict/cost_fit.hpp"
#include "rueda/predict/tables.hpp"
#include "rueda/predict/what_if.hpp"

namespace rueda {

/// Whether communication is hidden behind backward.
enum class OverlapChoice { as_runs, on, off };
const char* to_string(OverlapChoice choice);

/// The options of `rueda predict`: texts as they were given, and behind them as they were read.
struct PredictOptions {
  std::vector<std::string> runs;  ///< directories or files
  std::vector<std::string> benches;
  std::string rank_words = "1,2,4,...,64";
  std::string fit_rank_words;
  bool cross_validate = false;

  std::string model;
  std::size_t image_size = 0;
  std::size_t batch_per_rank = 0;
  std::size_t global_batch = 0;
  std::size_t images = 0;  ///< of an epoch
  std::size_t ranks_per_node = 0;
  std::size_t links_per_node = 1;
  predict::Scheme scheme = predict::Scheme::ring;
  OverlapChoice overlap = OverlapChoice::as_runs;
  std::optional<double> bucket_mb;

  std::string alpha, bandwidth, inside_alpha, inside_bandwidth, add_rate;
  std::string compute, fixed, message_noise;
  std::string what_if;
  std::string measured;
  bool simulate = false;
  std::size_t seed = 1;

  std::optional<double> price, watts;
  std::string least_efficiency = "80%";
  std::string json;  ///< file to write; empty: none
  std::string out;   ///< folder, likewise

  std::vector<std::size_t> ranks, fit_ranks;
  predict::Given given;
  predict::Target target;
  std::vector<predict::Change> changes;
  std::vector<predict::MeasuredEpoch> epochs;
  predict::Price costs;
};

/// Reads the words and checks the rest; throws InputError naming the option.
void settle(PredictOptions& options);

}  // namespace rueda
