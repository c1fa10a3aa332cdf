#pragma once

#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/config.hpp"

namespace rueda {

/// The facts that decide whether a rank's gradients travel on a thread of their own.
struct OverlapFacts {
  int ranks = 1;
  bool threads_may_take_turns = false;  ///< MPI offers at least MPI_THREAD_SERIALIZED
  bool computes_on_host = true;         ///< one more thread takes a core from the computing ones
  double cores = 1;                     ///< that this rank may use
  int threads = 1;                      ///< that compute
  bool threads_given = false;           ///< --threads says so
};

struct OverlapDecision {
  bool on = false;
  int threads = 1;  ///< that compute then
};

/// Collective: on only where each rank decides so, for comparable times; `threads` are this rank's.
OverlapDecision agree_on_overlap(RankGroup& world, Overlap choice, const OverlapFacts& facts);

/// Throws InputError for an overlap asked for that this MPI cannot give.
OverlapDecision decide_overlap(Overlap choice, const OverlapFacts& facts);

}  // namespace rueda
