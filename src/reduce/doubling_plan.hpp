#pragma once

#include <bit>
#include <vector>

#include "reduce/pair_plan.hpp"

namespace rueda {

// Which ranks exchange what in which order in recursive doubling: its arithmetic,
// without messages.
//
// A block of ranks is cut into a left part, as many ranks as the largest power
// of two below its size, and a right part, the rest. Each part sums among
// itself, in the same way, at the same time. Then rank j of the left part and
// rank j of the right one send each other the sum of their part, and both add
// the two: left + right on one side, right + left on the other, which round
// alike. So both hold the same bits, and with them, by induction, all who
// exchanged. With a power of two of ranks each has a partner in every round:
// log2 P messages.
//
// Otherwise the right part is the shorter one, and the left ranks beyond it
// have no partner. The sum is spread to them, by those who have it to as many
// who have not, twice as many each time; it is copied, so that their bits are
// the same, too.
//
// The parts are those of TreeOrder: blocks of powers of two, and what is left
// at the end merged from the right. Hence the bits of the fixed order.

/// Ranks first ... first+count-1, which are summed among themselves.
struct DoublingBlock {
  int first = 0;
  int count = 1;

  // Of a block of more than one rank.
  constexpr DoublingBlock left() const noexcept {
    return {first, int(std::bit_floor(unsigned(count - 1)))};
  }
  constexpr DoublingBlock right() const noexcept {
    return {first + left().count, count - left().count};
  }
  /// How often the ranks that have the sum double until all of the left part have it.
  constexpr int spreads() const noexcept {
    return std::bit_width(unsigned((left().count - 1) / right().count));
  }
};

/// The slice as a whole.
inline constexpr Range kWholeSlice{0, 1};

/// Appends what `rank`, of the left part, does so that all of it have the sum
/// that the first ranks, as many as the right part has, hold.
inline void append_spreads(const DoublingBlock& block, int rank, std::vector<PairStep>& steps) {
  const DoublingBlock left = block.left();
  const int mine = rank - left.first;
  int have = block.right().count;
  for (int round = 0; round < block.spreads(); ++round, have *= 2) {
    if (mine < have && mine + have < left.count)
      steps.push_back({.phase = "spread", .peer = rank + have, .sent = kWholeSlice});
    if (mine >= have && mine < 2 * have)
      steps.push_back({.phase = "spread", .peer = rank - have, .received = kWholeSlice});
  }
}

/// Appends what `rank`, one of `block`, does until all of the block have its sum.
inline void append_steps(const DoublingBlock& block, int rank, std::vector<PairStep>& steps) {
  if (block.count == 1) return;
  const DoublingBlock left = block.left();
  const DoublingBlock right = block.right();
  if (rank >= right.first) {
    append_steps(right, rank, steps);
    steps.push_back({"doubling", rank - left.count, kWholeSlice, kWholeSlice, true});
    return;
  }
  append_steps(left, rank, steps);
  if (rank - left.first < right.count)
    steps.push_back({"doubling", rank + left.count, kWholeSlice, kWholeSlice, true});
  append_spreads(block, rank, steps);
}

/// What `rank` does to get the sum over `ranks` ranks.
inline PairPlan doubling_plan(int rank, int ranks) {
  PairPlan plan;
  append_steps({0, ranks}, rank, plan.steps);
  return plan;
}

}  // namespace rueda
