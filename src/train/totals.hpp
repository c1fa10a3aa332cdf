#pragma once

#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda {

/// Running totals of an epoch or an evaluation.
struct Totals {
  double loss = 0;
  double correct = 0;
  double samples = 0;

  Score score(double seconds) const;
};

/// Adds every rank's totals in rank order, so that all ranks get the same bits. Collective.
Totals sum_over_ranks(RankGroup& group, const Totals& mine);

}  // namespace rueda
