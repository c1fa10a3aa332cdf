#pragma once

#include <string>
#include <vector>

#include "forecast.hpp"

namespace rueda::predict {

/// A machine that is not there: one figure of it changed, by a factor or to a value.
struct Change {
  enum class What {
    bandwidth,         ///< between nodes; of all links where there is one level
    latency,           ///< likewise
    inside_bandwidth,  ///< within nodes
    inside_latency,
    add_rate,      ///< bytes added per second
    compute_time,  ///< of a step, whatever is not communication
    noise          ///< of the ranks' steps; by a factor
  };
  What what = What::bandwidth;
  double value = 1;  ///< bytes per second, seconds, or the factor
  bool is_factor = true;
};

/// Reads "bandwidth=2x,latency=5us". Empty: no change. Throws InputError naming the part.
std::vector<Change> parse_changes(const std::string& text);

void apply(const Change& change, CostModel& model);

}  // namespace rueda::predict
