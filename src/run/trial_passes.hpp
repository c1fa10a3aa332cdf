#pragma once

#include <cstddef>
#include <vector>

#include "backend/replica.hpp"
#include "rueda/data/dataset.hpp"

namespace rueda {

/// How long passes are tried: both have to be reached.
struct TrialLength {
  std::size_t passes = 3;
  double seconds = 0;
};

/// Forward, loss and backward over `images` images of `set` again and again, as
/// training does them: the time of each. A GPU records the second pass and replays
/// it from the third on. The replica has planned this size. Leaves zeros in the
/// gradient arena. No pass without images.
std::vector<ComputeSeconds> trial_passes(const ImageSet& set, std::size_t images, int side,
                                         Replica& replica, const TrialLength& length);

}  // namespace rueda
