#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "predict/predict.hpp"
#include "rueda/train/config.hpp"

namespace rueda {

/// The options of `rueda predict`.
struct PredictOptions {
  std::vector<std::string> runs;  ///< directories or files
  std::vector<std::string> benches;
  std::string rank_words = "1,2,4,...,64";
  std::string fit_rank_words;
  bool cross_validate = false;

  predict::Target target;
  std::size_t batch_per_rank = 0;
  std::size_t global_batch = 0;
  std::size_t images = 0;  ///< of an epoch
  predict::Scheme scheme = predict::Scheme::ring;
  Overlap overlap = Overlap::automatic;  ///< whether backward hides communication; else as the runs

  predict::Given given;
  std::string what_if;
  std::string measured;
  bool simulate = false;
  std::size_t seed = 1;

  predict::Price costs;
  std::string least_efficiency = "80%";
  std::string json, extra_p;  ///< files to write; empty: none
  std::string out;            ///< folder to write to; empty: none

  // Set by validate().
  std::vector<std::size_t> ranks, fit_ranks;
  std::vector<predict::Change> changes;
  std::vector<predict::MeasuredEpoch> epochs;
};

/// Reads the words and checks the rest; throws InputError naming the option.
void validate(PredictOptions& options);

/// Fits a cost model to runs and measurements, predicts with it, prints the
/// tables and writes the files that were asked for. Needs neither MPI nor a
/// device. Throws InputError.
void run_command(const PredictOptions& options, std::ostream& out);

}  // namespace rueda
