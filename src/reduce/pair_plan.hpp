#pragma once

#include <cstddef>
#include <vector>

#include "base/split.hpp"

namespace rueda {

/// What a rank does at a time in a sum in which ranks meet in pairs: it sends
/// chunks to `peer`, or receives some, or both at once.
struct PairStep {
  const char* phase = "";  ///< a literal, for people
  int peer = 0;
  Range sent = {};      ///< chunks; empty: none
  Range received = {};  ///< chunks; empty: none
  bool adds = false;    ///< what comes in is added to the rank's own; else it replaces that
};

/// What one rank does, in this order, to get the sum of a slice.
struct PairPlan {
  std::size_t chunks = 1;  ///< into which the slice is cut
  std::vector<PairStep> steps = {};

  /// The floats of some chunks of a slice of `length`.
  constexpr Range floats(std::size_t length, Range of) const noexcept {
    if (of.empty()) return {};
    return {even_split(length, chunks, of.begin).begin, even_split(length, chunks, of.end - 1).end};
  }
};

}  // namespace rueda
