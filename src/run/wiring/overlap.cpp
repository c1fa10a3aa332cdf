#include "run/wiring/overlap.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace rueda {

OverlapDecision decide_overlap(Overlap choice, const OverlapFacts& facts) {
  const OverlapDecision off{false, facts.threads};
  if (facts.ranks == 1 || choice == Overlap::off) return off;
  if (!facts.threads_may_take_turns) {
    if (choice == Overlap::automatic) return off;
    throw InputError(
        "--overlap on: this MPI lets only one thread of a process call it (less than "
        "MPI_THREAD_SERIALIZED); use an MPI built with thread support, or --overlap off");
  }
  if (!facts.computes_on_host) return {true, facts.threads};
  const bool has_spare_core = facts.cores >= facts.threads + 1;
  if (choice == Overlap::automatic) return {has_spare_core, facts.threads};
  if (has_spare_core || facts.threads_given) return {true, facts.threads};
  return {true, std::max(1, facts.threads - 1)};
}

OverlapDecision agree_on_overlap(RankGroup& world, Overlap choice, const OverlapFacts& facts) {
  OverlapDecision mine;
  together(world, [&] { mine = decide_overlap(choice, facts); });
  const bool all = min_over_ranks(world, mine.on);
  return {all, all ? mine.threads : facts.threads};
}

}  // namespace rueda
