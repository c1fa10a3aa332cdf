#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rueda/core/split.hpp"
#include "rueda/reduce/algorithm.hpp"

namespace rueda::bench {

/// One chunk from one rank to another.
struct Message {
  int from = 0;
  int to = 0;
  int chunk = 0;
  bool adds = false;  ///< the receiver adds it to its own chunk; else it replaces that
};

/// Messages that are sent at the same time.
struct Step {
  std::string phase;
  int number = 0;                 ///< of the phase (ring), or of the whole sum (others)
  std::vector<Message> messages;  ///< by sender
};

/// All messages of one all-reduce. Empty chunks are no messages.
struct Schedule {
  int ranks = 1;
  std::size_t length = 0;  ///< floats
  std::vector<Range> chunks;
  std::vector<Step> steps;
};

/// The messages of ring (by RingPlan), doubling or central. A message is in the
/// first step in which its sender and its receiver have done all before it.
/// Throws InputError for other algorithms.
Schedule schedule_of(Algorithm algorithm, int ranks, std::size_t length);

/// Whose values each rank has summed: [rank][chunk], a bit for each rank.
using Holdings = std::vector<std::vector<unsigned>>;
Holdings first_holdings(const Schedule& schedule);
/// After `step`: a message carries what its sender held before.
Holdings holdings_after(const Step& step, const Holdings& before);

/// What a rank sends.
struct Traffic {
  std::size_t messages = 0;
  std::size_t floats = 0;
};
/// Of each rank.
std::vector<Traffic> sent_by_rank(const Schedule& schedule);

}  // namespace rueda::bench
