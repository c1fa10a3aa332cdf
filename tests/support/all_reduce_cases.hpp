#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host_reduce_device.hpp"
#include "mpi/sums/central_all_reduce.hpp"
#include "mpi/sums/fixed_order_all_reduce.hpp"
#include "mpi/sums/hierarchical_all_reduce.hpp"
#include "mpi/sums/pairwise_all_reduce.hpp"
#include "mpi/sums/ring_all_reduce.hpp"
#include "mpi/sums/wire_ring_all_reduce.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/reduce/exchange.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "values.hpp"

// What holds for every all-reduce that sends messages, between whatever ranks.

namespace rueda::test {

/// Lengths at which cutting into `size` chunks can go wrong, and some of no special kind.
inline std::vector<std::size_t> lengths_for(int size) {
  const auto ranks = std::size_t(size);
  return {0, 1, ranks - 1, ranks, ranks + 1, 2, 3, 7, 13, 101, 1000, 4099, 100003};
}

/// A sum whose journal is of no interest.
inline Event sum_unread(AllReduce& reduce, std::span<float> slice, Event ready) {
  ReduceJournal journal;
  return reduce.sum(slice, ready, journal);
}

/// Whether `reduce` sums whole numbers exactly. The slice is the product of queued work on
/// `device`, so it is right only if the all-reduce waits for `ready`.
inline bool sums_exactly(AllReduce& reduce, ReduceDevice& device, const RankGroup& group,
                         std::size_t length) {
  const auto values = filled<whole_value>(group.rank(), length);
  std::vector<float> slice(length, 1e6f);
  device.copy(slice, values);
  device.wait(sum_unread(reduce, slice, device.record()));
  for (std::size_t i = 0; i < length; ++i)
    if (slice[i] != whole_sum(group.size(), i)) return false;
  return true;
}

/// The sum over ranks of rough values, for which the order of addition shows in the bits.
inline std::vector<float> rough_sum(AllReduce& reduce, ReduceDevice& device, int rank,
                                    std::size_t length) {
  auto slice = filled<rough_value>(rank, length);
  device.wait(sum_unread(reduce, slice, device.record()));
  return slice;
}

/// A whole number whose multiples up to `size` are at most 256, which bf16 can hold.
inline float narrow_value(std::size_t index, int size) {
  return float(index % std::clamp<std::size_t>(256 / std::size_t(size), 1, 8) + 1);
}

/// Whether `reduce` sums exactly what a wire of bf16 can hold, over up to 256 ranks.
inline bool sums_narrow_values(AllReduce& reduce, ReduceDevice& device, int size,
                               std::size_t length) {
  std::vector<float> values(length), slice(length, 1e6F);
  for (std::size_t i = 0; i < length; ++i) values[i] = narrow_value(i, size);
  device.copy(slice, values);
  device.wait(sum_unread(reduce, slice, device.record()));
  for (std::size_t i = 0; i < length; ++i)
    if (slice[i] != float(size) * narrow_value(i, size)) return false;
  return true;
}

/// Whether the two differ by no more than the rounding of a sum over `size` rough values.
inline bool close_to(const std::vector<float>& a, const std::vector<float>& b, int size) {
  const float tolerance = float(size * size) * 256.0f * 0x1p-24f;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](float x, float y) {
    return x - y <= tolerance && y - x <= tolerance;  // false for NaN
  });
}

using ExchangePtr = std::unique_ptr<Exchange>;

/// Where an all-reduce under test works.
struct Place {
  RankGroup& group;
  ReduceDevice& device;
  std::function<ExchangePtr()> exchange;        ///< between all ranks
  std::function<ExchangePtr(int color)> split;  ///< between those of one color; collective
};

/// The same with other exchanges around those of `place`.
inline Place with(const Place& place, const std::function<ExchangePtr(ExchangePtr)>& around) {
  return {place.group, place.device, [=] { return around(place.exchange()); },
          [=](int color) { return around(place.split(color)); }};
}

/// A way to sum, with everything that can be set about it.
struct ReduceCase {
  std::string name;
  std::function<std::unique_ptr<AllReduce>(const Place&)> make;
  bool has_tree_order = false;                                    ///< the bits of the fixed order
  std::size_t longest = std::numeric_limits<std::size_t>::max();  ///< beyond, too many messages
};

inline ReduceCase ring_of(std::size_t segment) {
  return {"ring in segments of " + std::to_string(segment),
          [segment](const Place& p) {
            return std::make_unique<RingAllReduce>(p.exchange(), p.device, segment);
          },
          false, segment == 0 ? std::numeric_limits<std::size_t>::max() : 500 * segment};
}

inline ReduceCase wire_ring_of(std::size_t segment) {
  return {"bf16 wire in segments of " + std::to_string(segment),
          [segment](const Place& p) {
            return std::make_unique<WireRingAllReduce>(p.exchange(), p.device, segment);
          },
          false, 500};
}

/// How the sum between hosts is made.
using MakeAcross = std::function<std::unique_ptr<AllReduce>(ExchangePtr, ReduceDevice&)>;

/// On pretended hosts, between which `across` sums, else the ring: rank r is on
/// host `host_of(r)`.
inline ReduceCase hierarchy_of(const std::string& name, std::size_t segment,
                               const std::function<int(int)>& host_of, bool fixed_order = false,
                               const MakeAcross& make_across = {}) {
  const auto make = [=](const Place& p) {
    std::vector<int> hosts;
    for (int rank = 0; rank < p.group.size(); ++rank) hosts.push_back(host_of(rank));
    const auto across = [&](ExchangePtr ranks) -> std::unique_ptr<AllReduce> {
      if (make_across) return make_across(std::move(ranks), p.device);
      if (fixed_order) return std::make_unique<FixedOrderAllReduce>(std::move(ranks), p.device);
      return std::make_unique<RingAllReduce>(std::move(ranks), p.device, segment);
    };
    return std::make_unique<HierarchicalAllReduce>(p.device, HostLayout(hosts),
                                                   HierarchicalParts{.world = p.exchange(),
                                                                     .split = p.split,
                                                                     .across = across,
                                                                     .segment = segment,
                                                                     .fixed_order = fixed_order});
  };
  return {name, make, fixed_order, 5000};
}

/// All that need nothing but messages and send fp32.
inline std::vector<ReduceCase> own_algorithms() {
  std::vector<ReduceCase> all;
  for (const std::size_t segment : {0u, 1u, 7u, 64u, 1u << 20}) all.push_back(ring_of(segment));
  all.push_back({"fixed order",
                 [](const Place& p) {
                   return std::make_unique<FixedOrderAllReduce>(p.exchange(), p.device, 100);
                 },
                 true, 5000});
  all.push_back(
      {"doubling", [](const Place& p) { return make_doubling(p.exchange(), p.device); }, true});
  all.push_back({"halving", [](const Place& p) { return make_halving(p.exchange(), p.device); }});
  all.push_back(
      {"central",
       [](const Place& p) { return std::make_unique<CentralAllReduce>(p.exchange(), p.device); },
       true});
  all.push_back(hierarchy_of("hosts of two ranks", 0, [](int rank) { return rank / 2; }));
  all.push_back(hierarchy_of("hosts of three ranks, in segments", 16, [](int r) { return r / 3; }));
  all.push_back(hierarchy_of("ranks dealt out to two hosts", 7, [](int rank) { return rank % 2; }));
  all.push_back(hierarchy_of("a host of one rank and one of the others", 0,
                             [](int rank) { return rank == 1 ? 5 : 3; }));
  all.push_back(hierarchy_of("a host of two ranks and one of the others", 7,
                             [](int rank) { return rank < 2 ? 0 : 1; }));
  all.push_back(hierarchy_of(
      "hosts of two ranks, halving between", 0, [](int rank) { return rank / 2; }, false,
      make_halving));
  all.push_back(hierarchy_of(
      "ranks dealt out to three hosts, halving between", 7, [](int rank) { return rank % 3; },
      false, make_halving));
  all.push_back(hierarchy_of("one host", 7, [](int) { return 4; }));
  all.push_back(hierarchy_of("one rank a host", 7, [](int rank) { return rank; }));
  return all;
}

/// These, and the ring that rounds.
inline std::vector<ReduceCase> own_algorithms_and_wires() {
  auto all = own_algorithms();
  for (const std::size_t segment : {0u, 5u}) all.push_back(wire_ring_of(segment));
  return all;
}

}  // namespace rueda::test
