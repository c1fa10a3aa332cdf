#pragma once

#include <bit>
#include <cstddef>

namespace rueda {

/// The fixed order in which contributions 0, 1, 2, ... are added: by the owner
/// of a chunk over ranks, or by one rank over its micro-batches. Both follow
/// this class, hence N ranks and one rank of N micro-batches round alike.
///
/// It counts in binary. A contribution comes with level 0 on top of a stack;
/// while the two topmost entries have equal level they merge into one of the
/// next level. What is left at the end is merged from the top of the stack
/// down. So 3 give (0+1)+2, 4 give (0+1)+(2+3) and 5 give ((0+1)+(2+3))+4. For
/// K a power of two, the tree over P of trees over K is the tree over P*K.
///
/// An entry's position in the stack is its slot, a number that the caller maps
/// to memory. Only `slots_needed(n)` of them exist at a time, because
/// contributions may come one after another:
///
///     TreeOrder order;
///     for (each contribution) {
///       put it into slot order.next_slot();
///       order.push(merge);    // merge(into, from): slot `into` becomes `into` + `from`
///     }
///     order.finish(merge);    // the sum is in slot 0
class TreeOrder {
 public:
  /// Slots that ever hold something when `count` contributions are pushed: floor(log2(count)) + 1.
  static constexpr std::size_t slots_needed(std::size_t count) noexcept {
    return std::size_t(std::bit_width(count));
  }

  /// Contributions pushed since the beginning or the last finish().
  constexpr std::size_t count() const noexcept { return count_; }

  /// Where the next contribution belongs. Each bit set in the count is one entry of the stack.
  constexpr std::size_t next_slot() const noexcept { return std::size_t(std::popcount(count_)); }

  /// Takes note that the next slot is filled and calls `merge(into, from)` for
  /// each merge now due. `into` is the left operand and `from` = `into` + 1 the
  /// right one, which is free afterwards.
  template <class Merge>
  constexpr void push(Merge&& merge) {
    std::size_t top = next_slot();
    ++count_;
    // Each carry of the count is a merge: as many as it now has trailing zeros.
    for (int carry = std::countr_zero(count_); carry > 0; --carry, --top) merge(top - 1, top);
  }

  /// Merges what is left into slot 0 and begins anew.
  template <class Merge>
  constexpr void finish(Merge&& merge) {
    for (std::size_t top = next_slot(); top > 1; --top) merge(top - 2, top - 1);
    count_ = 0;
  }

 private:
  std::size_t count_ = 0;
};

/// How the contributions to a sum are dealt: each of `ranks` adds `each` of them,
/// and then the ranks' sums are added.
struct Deal {
  std::size_t ranks = 1;
  std::size_t each = 1;
  bool operator==(const Deal&) const = default;

  /// Whether the two additions are the one tree over all contributions. The
  /// left branch of that tree has a power of two of them; that of a tree of
  /// trees has whole ranks only.
  constexpr bool is_one_tree() const noexcept { return ranks == 1 || std::has_single_bit(each); }
};

/// Whether both add the same contributions along the same tree, so that the
/// sums have the same bits. Two different ways to deal do so only if both are
/// the one tree: where it is another, its smallest branch of several ranks
/// shows how many each rank has added.
constexpr bool same_tree(const Deal& a, const Deal& b) noexcept {
  return a == b || (a.ranks * a.each == b.ranks * b.each && a.is_one_tree() && b.is_one_tree());
}

}  // namespace rueda
