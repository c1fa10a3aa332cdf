#pragma once

#include <string>

#include "rueda/train/config.hpp"

namespace rueda {

/// The options of `rueda evaluate`.
struct EvaluateOptions {
  /// Those that training has too. `resume` is a run or a checkpoint whose weights are meant.
  TrainConfig train;
  std::string predictions, json, plot;  ///< files to write; empty: none
};

inline void validate(const EvaluateOptions& options) { validate(options.train); }

/// Scores weights on the test images on all ranks. Rank 0 prints the tables and
/// writes the files. Returns the exit code.
int run_evaluate(const EvaluateOptions& options);

}  // namespace rueda
