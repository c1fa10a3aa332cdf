#pragma once

#include <cstddef>

#include "train/totals.hpp"

namespace rueda {

/// Where a run stands at the end of a step. With parameters, running statistics and velocities it
/// is all that training needs to go on: every random choice is hashed from seed, epoch and sample,
/// so that epoch and step are the counters of the generators, too.
struct TrainPosition {
  std::size_t epochs = 0;  ///< finished, evaluated and recorded
  std::size_t steps = 0;   ///< taken in the epoch after them; of all, it is still to be evaluated
  Totals so_far;           ///< of these steps, over all ranks
  double seconds = 0;      ///< that they took
  double spent = 0;        ///< seconds of the finished epochs, their evaluations included
};

}  // namespace rueda
