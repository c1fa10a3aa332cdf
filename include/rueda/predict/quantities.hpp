#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rueda/predict/forecast.hpp"

namespace rueda::predict {

/// Amounts as people write them, a number and a unit: 5us, 544ms, 10GB/s, 1Gbit/s. Units are powers
/// of 1000. Each throws InputError naming `option`, which takes the text, and the units.

/// Seconds, of s, ms, us or ns; 0 is allowed.
double parse_seconds(const std::string& option, const std::string& text);
/// Bytes per second, of B/s, kB/s, MB/s, GB/s, TB/s, kbit/s, Mbit/s, Gbit/s or Tbit/s; above 0.
double parse_rate(const std::string& option, const std::string& text);
/// A share, as 20% or 0.2; from 0 on.
double parse_share(const std::string& option, const std::string& text);

/// Numbers of ranks, as 1,2,4, or 1,2,4,...,64 for what goes on by the same factor or, if the last
/// two of three do not have the factor of the first two, by the same difference. Ascending, each
/// once.
std::vector<std::size_t> parse_rank_list(const std::string& option, const std::string& text);

/// Another machine: one figure of the model changed, by a factor or to a value.
struct Change {
  void (*apply)(CostModel& model, const Change& change) = nullptr;
  double value = 1;  ///< bytes per second, seconds, or the factor
  bool is_factor = true;
};

/// Reads "bandwidth=2x,latency=5us": bandwidth and latency (between nodes; of all links where there
/// is one level), inside-bandwidth and inside-latency (within nodes), add-rate (bytes added per
/// second); compute-time (of a step, all but communication) and noise (of the ranks' steps) take a
/// factor only. Empty: no change. Throws InputError naming the part.
std::vector<Change> parse_changes(const std::string& text);

}  // namespace rueda::predict
