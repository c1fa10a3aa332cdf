#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "comparison.hpp"
#include "cost_fit.hpp"
#include "forecast.hpp"
#include "rueda/study/table.hpp"
#include "simulated_sum.hpp"

namespace rueda::predict {

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
Table comparison_table(const std::vector<Comparison>& comparisons);
Table loss_table(const std::vector<Loss>& losses);
Table simulation_table(const std::vector<SimulatedSum>& sums, double noise);

}  // namespace rueda::predict
