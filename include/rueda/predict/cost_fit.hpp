#pragma once

#include <optional>
#include <string>
#include <vector>

#include "forecast.hpp"
#include "predict/bench_result.hpp"
#include "predict/compute_fit.hpp"
#include "predict/machine_fit.hpp"
#include "rueda/study/run_result.hpp"

namespace rueda::predict {

/// What is given instead of being fitted. Nothing: fitted.
struct Given {
  std::optional<double> alpha, bandwidth;                ///< between nodes; s, B/s
  std::optional<double> inside_alpha, inside_bandwidth;  ///< within nodes
  std::optional<double> add_rate;                        ///< B/s
  std::optional<double> step_seconds;  ///< of a full step of `batch` images on one rank
  std::optional<double> fixed;         ///< t0
  std::optional<double> message_noise;
  std::size_t batch = 0;  ///< images of a rank, for `step_seconds`
};

/// The network and the machine that a model is for.
struct Target {
  std::string model;           ///< empty: that of the runs
  std::size_t image_size = 0;  ///< 0: that of the runs
  /// 0: ranks are taken to be joined by links of one kind.
  std::size_t ranks_per_node = 0;
  std::size_t links_per_node = 1;
  std::optional<double> bucket_mb;  ///< as --bucket-mb of training; nothing: as the runs had it
};

/// A cost model and where it is from.
struct CostFit {
  CostModel model;
  std::string network;         ///< its name
  std::size_t image_size = 0;  ///< pixels
  MachineFit machine;
  std::optional<ComputeFit> compute;  ///< nothing: given
  NoiseFit noise;
  std::vector<std::string> notes;  ///< what was assumed, and where it may not hold
};

/// Fits all that is not given. Throws InputError where something is neither.
CostFit fit_cost(const std::vector<RunResult>& runs, const std::vector<BenchResult>& benches,
                 const Target& target, const Given& given);

/// Of runs with an epoch, those that a fit goes by: with a core for each thread. What is left out
/// is told in `notes`.
std::vector<RunResult> usable_runs(const std::vector<RunResult>& runs,
                                   std::vector<std::string>& notes);

}  // namespace rueda::predict
