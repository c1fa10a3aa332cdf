#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "rueda/train/timings.hpp"

namespace rueda {

// Words and thresholds that the reader of runs (jobs/reader) has, too. `rueda
// definitions` writes them for it, so that nobody types them a second time.

/// For people.
inline std::string phase_words(std::size_t phase) {
  if (phase == kAllReduce) return "exposed all-reduce";
  return std::string(kPhaseNames[phase]);
}

/// How a run stands or ended (RunRecord::outcome).
inline constexpr std::array kOutcomes = {"running", "completed", "target reached", "stopped",
                                         "failed"};

/// Key and heading of the efficiencies of a point by the model of POP
/// (docs/metrics.md). The four in the middle are factors of the last, the first
/// three of these factors of the first.
inline constexpr std::array<std::pair<const char*, const char*>, 6> kFactors = {
    {{"parallel", "parallel efficiency"},
     {"load_balance", "load balance"},
     {"serialisation", "serialisation"},
     {"transfer", "transfer"},
     {"computation_scaling", "computation scaling"},
     {"global", "global efficiency"}}};

/// From this share of the ideal on nothing worth a cause is lost.
inline constexpr double kNothingLost = 0.98;

}  // namespace rueda
