#pragma once

#include <cstddef>
#include <vector>

#include "rueda/reduce/tree_order.hpp"
#include "values.hpp"

namespace rueda::test {

/// The sum of rough values 0 ... count-1 of element `index`, by one rank alone, in the fixed order.
inline float serial_tree(int count, std::size_t index) {
  TreeOrder order;
  std::vector<float> slots(TreeOrder::slots_needed(std::size_t(count)));
  const auto merge = [&](std::size_t into, std::size_t from) {
    slots.at(into) = slots.at(into) + slots.at(from);
  };
  for (int r = 0; r < count; ++r) {
    slots.at(order.next_slot()) = rough_value(r, index);
    order.push(merge);
  }
  order.finish(merge);
  return slots.at(0);
}

inline std::vector<float> serial_trees(int count, std::size_t length) {
  std::vector<float> sums(length);
  for (std::size_t i = 0; i < length; ++i) sums[i] = serial_tree(count, i);
  return sums;
}

}  // namespace rueda::test
