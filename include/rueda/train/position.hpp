#pragma once

#include <cstddef>

#include "rueda/reduce/rank_group.hpp"

namespace rueda {

struct Score;

/// Running totals of an epoch or an evaluation.
struct Totals {
  double loss = 0;
  double correct = 0;
  double samples = 0;

  Score score(double seconds) const;
};

/// Collective: adds every rank's totals in rank order, so that all ranks get the same bits.
Totals sum_over_ranks(RankGroup& group, const Totals& mine);

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
