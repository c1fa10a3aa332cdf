#pragma once

#include <cstdint>

namespace rueda::timed {

/// What the jitter of a rank is drawn from, together with the number of the micro-batch.
struct JitterSeed {
  std::uint64_t seed = 1;
  int rank = 0;
};

/// How much longer (above 1) or shorter micro-batch `number` of a rank takes, evenly distributed.
double jitter_factor(const JitterSeed& seed, std::uint64_t number, double percent);

}  // namespace rueda::timed
