#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "distribution.hpp"
#include "pair_fit.hpp"
#include "rueda/study/run_result.hpp"

namespace rueda::predict {

/// Where a rank's time goes in a step, but for communication.
struct ComputeModel {
  double fixed = 0;      ///< t0: seconds of forward, loss and backward, whatever the batch
  double per_image = 0;  ///< t1: seconds of these for each image
  double backward_share = 2.0 / 3;  ///< of these, backward's
  double input_per_image = 0;       ///< load and copy
  double update = 0;                ///< optimizer and other: seconds of a step

  double compute_seconds(double images) const noexcept { return fixed + per_image * images; }
  double other_seconds(double images) const noexcept { return input_per_image * images + update; }
};

struct ComputeFit {
  ComputeModel model;
  PairFit fit;                       ///< of t0 and t1; separable: batches of several sizes were run
  std::vector<std::size_t> batches;  ///< images of a micro-batch, each once, ascending
  std::size_t runs = 0;
};

/// From the steady full steps of runs of one model on one kind of device: means over ranks. t0 and
/// t1 by least squares of relative errors over (micro-batch, time); t0 is 0 where only one batch
/// was run. Throws InputError if no run has a full step.
ComputeFit fit_compute(const std::vector<RunResult>& runs);

/// How the time of a rank's full step without waiting for the all-reduce varies beside its mean
/// over steps and ranks of the run, which is 1.
struct NoiseFit {
  Distribution noise{1};
  std::size_t samples = 0;  ///< steps of a rank; 0: nothing is known
  bool from_steps = false;  ///< from steps.csv, value by value; else from the spreads of run.json
};

/// From steps.csv beside each run's file, if all have one.
NoiseFit fit_noise(const std::vector<RunResult>& runs);

}  // namespace rueda::predict
