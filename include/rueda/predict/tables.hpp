#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "rueda/predict/cost_fit.hpp"
#include "rueda/study/table.hpp"

namespace rueda::predict {

/// A measured epoch, and how much of its loss compared with perfect scaling the model explains;
/// seconds.
struct Loss {
  std::size_t ranks = 1;
  double measured = 0;    ///< T(P)
  double lost = 0;        ///< T(P) - T(1) / P
  double all_reduce = 0;  ///< exposed, of all steps
  /// More than the partial last step can have cost: what it would if it took as long as a full step
  /// and not as long as its images. Less the same on one rank, divided by P.
  double partial_at_most = 0;
  double efficiency = 0;  ///< T(1) / (P T(P))
};

/// An epoch time of P ranks.
struct MeasuredEpoch {
  std::size_t ranks = 1;
  double seconds = 0;
};

/// `scenarios`: of each measured epoch, as for the forecast. Throws InputError without a measured
/// epoch on one rank.
std::vector<Loss> explain_losses(const CostModel& model, const std::vector<MeasuredEpoch>& measured,
                                 const std::vector<Scenario>& scenarios);

/// What a rank costs, and what is worth it.
struct Price {
  std::optional<double> per_rank_hour;  ///< in any currency
  std::optional<double> watts;          ///< of a rank
  double least_efficiency = 0.8;        ///< a share
};

/// `forecasts` by P. `one_rank`: the epoch on one rank of the same batch per rank, or, for one
/// global batch, of that.
Table forecast_table(const std::vector<EpochForecast>& forecasts, const EpochForecast& one_rank,
                     const Price& price);
Table fit_table(const CostFit& fit);
/// All runs of the network that the model is for, each next to its prediction. Those on `fit_ranks`
/// count as fitted; empty: all.
Table comparison_table(std::vector<RunResult> runs, const CostFit& fit,
                       const std::vector<std::size_t>& fit_ranks);
Table loss_table(const std::vector<Loss>& losses);
Table simulation_table(const std::vector<SimulatedSum>& sums, double noise);

}  // namespace rueda::predict
