#pragma once

#include <cstddef>
#include <string>

namespace rueda {

/// How long a rank of the timed backend waits where others compute.
struct TimedCompute {
  double seconds = 0;         ///< for forward and backward of `images` images; others in proportion
  std::size_t images = 1;     ///< of a full micro-batch
  double jitter_percent = 0;  ///< by which each micro-batch may take longer or shorter
  std::string recorded_in = {};  ///< the run.json that `seconds` comes from; empty: given
};

}  // namespace rueda
