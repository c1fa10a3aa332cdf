#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "reduce/tree_order.hpp"
#include "rueda/reduce/rank_group.hpp"

namespace rueda::test {

/// A whole number that differs by rank and index, so small that sums over 15 ranks are exact.
inline float whole_value(int rank, std::size_t index) {
  return float(std::size_t(rank) * 1009 + index % 997 + 1);
}

/// The exact sum of whole_value over ranks 0 ... size-1.
inline float whole_sum(int size, std::size_t index) {
  float sum = 0;
  for (int r = 0; r < size; ++r) sum += whole_value(r, index);
  return sum;
}

/// A value whose sums depend on the order of addition: random sign and digits, magnitudes from
/// 2^-8 to 2^7. A hash, so every rank can compute every other rank's.
inline float rough_value(int rank, std::size_t index) {
  std::uint64_t h = (std::uint64_t(rank) << 40) + index + 0x9e3779b97f4a7c15u;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
  h ^= h >> 31;
  const float digits = 1.0f + float(h & 0xffffffu) * 0x1p-24f;
  const float scale = float(1u << ((h >> 24) & 15u)) * 0x1p-8f;
  return (h >> 63) != 0 ? -digits * scale : digits * scale;
}

/// A number that looks drawn from a normal distribution, nearly: a sum of twelve even ones.
inline double nearly_normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t at) {
  double sum = -6;
  for (std::uint64_t k = 0; k < 12; ++k) sum += to_unit(random_bits(seed, stream, at, k));
  return sum;
}

template <float (*Value)(int, std::size_t)>
std::vector<float> filled(int rank, std::size_t length) {
  std::vector<float> values(length);
  for (std::size_t i = 0; i < length; ++i) values[i] = Value(rank, i);
  return values;
}

/// The sum of `values`, one at least, in the fixed order.
inline float tree_sum(std::span<const float> values) {
  TreeOrder order;
  std::vector<float> slots(TreeOrder::slots_needed(values.size()));
  const auto merge = [&](std::size_t into, std::size_t from) {
    slots.at(into) = slots.at(into) + slots.at(from);
  };
  for (const float value : values) {
    slots.at(order.next_slot()) = value;
    order.push(merge);
  }
  order.finish(merge);
  return slots.at(0);
}

/// The sum of rough values 0 ... count-1 of element `index`, by one rank alone, in the fixed order.
inline float serial_tree(int count, std::size_t index) {
  std::vector<float> values;
  for (int r = 0; r < count; ++r) values.push_back(rough_value(r, index));
  return tree_sum(values);
}

inline std::vector<float> serial_trees(int count, std::size_t length) {
  std::vector<float> sums(length);
  for (std::size_t i = 0; i < length; ++i) sums[i] = serial_tree(count, i);
  return sums;
}

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

/// Whether all ranks hold the same bits.
inline bool same_bits_on_all_ranks(RankGroup& group, std::span<const float> mine) {
  const auto all = group.all_gather(std::as_bytes(mine));
  bool same = true;
  for (const auto& other : all) same = same && other == all[0];
  return same;
}

}  // namespace rueda::test
