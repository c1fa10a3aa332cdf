#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "host_reduce_device.hpp"
#include "mpi/session/communicator.hpp"
#include "mpi/sums/central_all_reduce.hpp"
#include "mpi/sums/doubling_all_reduce.hpp"
#include "mpi/sums/hierarchical_all_reduce.hpp"
#include "mpi_check.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "values.hpp"

namespace rueda::test {

/// Lengths at which cutting into `size` chunks can go wrong, and some of no special kind.
inline std::vector<std::size_t> lengths_for(int size) {
  const auto ranks = std::size_t(size);
  return {0, 1, ranks - 1, ranks, ranks + 1, 2, 3, 7, 13, 101, 1000, 4099, 100003};
}

/// Whether `reduce` sums whole numbers exactly. The slice is the product of queued work on
/// `device`, so it is right only if the all-reduce waits for `ready`.
inline bool sums_exactly(AllReduce& reduce, ReduceDevice& device, const RankGroup& group,
                         std::size_t length) {
  const auto values = filled<whole_value>(group.rank(), length);
  std::vector<float> slice(length, 1e6f);
  device.copy(slice, values);
  device.wait(reduce.sum(slice, device.record()));
  for (std::size_t i = 0; i < length; ++i)
    if (slice[i] != whole_sum(group.size(), i)) return false;
  return true;
}

/// The sum over ranks of rough values, for which the order of addition shows in the bits.
inline std::vector<float> rough_sum(AllReduce& reduce, ReduceDevice& device, int rank,
                                    std::size_t length) {
  auto slice = filled<rough_value>(rank, length);
  device.wait(reduce.sum(slice, device.record()));
  return slice;
}

/// Whether the two differ by no more than the rounding of a sum over `size` rough values.
inline bool close_to(const std::vector<float>& a, const std::vector<float>& b, int size) {
  const float tolerance = float(size * size) * 256.0f * 0x1p-24f;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](float x, float y) {
    return x - y <= tolerance && y - x <= tolerance;  // false for NaN
  });
}

using MakeExchange = std::function<std::unique_ptr<Exchange>(Communicator&)>;

inline std::unique_ptr<Exchange> direct_exchange(Communicator& ranks) {
  return std::make_unique<Exchange>(ranks);
}

/// Where an all-reduce under test works.
struct Place {
  Communicator& world;
  ReduceDevice& device;
  MakeExchange exchange = direct_exchange;
};

/// A way to sum, with everything that can be set about it.
struct Candidate {
  std::string name;
  std::function<std::unique_ptr<AllReduce>(const Place&)> make;
  bool has_tree_order = false;                                    ///< the bits of the fixed order
  std::size_t longest = std::numeric_limits<std::size_t>::max();  ///< beyond, too many messages
};

inline Candidate ring_of(std::size_t segment) {
  return {"ring in segments of " + std::to_string(segment),
          [segment](const Place& p) {
            return std::make_unique<RingAllReduce>(p.exchange(p.world), p.device, segment);
          },
          false, segment == 0 ? std::numeric_limits<std::size_t>::max() : 500 * segment};
}

/// On pretended hosts: rank r is on host `host_of(r)`.
inline Candidate hierarchy_of(const std::string& name, std::size_t segment,
                              const std::function<int(int)>& host_of, bool fixed_order = false) {
  const auto make = [=](const Place& p) {
    std::vector<int> hosts;
    for (int rank = 0; rank < p.world.size(); ++rank) hosts.push_back(host_of(rank));
    HierarchicalParts parts{
        .exchange = p.exchange, .across = {}, .segment = segment, .fixed_order = fixed_order};
    parts.across = [&p, segment, fixed_order](Communicator& ranks) -> std::unique_ptr<AllReduce> {
      if (fixed_order) return std::make_unique<FixedOrderAllReduce>(p.exchange(ranks), p.device);
      return std::make_unique<RingAllReduce>(p.exchange(ranks), p.device, segment);
    };
    return std::make_unique<HierarchicalAllReduce>(p.world, p.device, HostLayout(hosts), parts);
  };
  return {name, make, fixed_order, 5000};
}

/// All that need nothing but messages.
inline std::vector<Candidate> own_algorithms() {
  std::vector<Candidate> all;
  for (const std::size_t segment : {0u, 1u, 7u, 64u, 1u << 20}) all.push_back(ring_of(segment));
  all.push_back({"fixed order",
                 [](const Place& p) {
                   return std::make_unique<FixedOrderAllReduce>(p.exchange(p.world), p.device, 100);
                 },
                 true, 5000});
  all.push_back({"doubling",
                 [](const Place& p) {
                   return std::make_unique<DoublingAllReduce>(p.exchange(p.world), p.device);
                 },
                 true});
  all.push_back({"central",
                 [](const Place& p) {
                   return std::make_unique<CentralAllReduce>(p.exchange(p.world), p.device);
                 },
                 true});
  all.push_back(hierarchy_of("hosts of two ranks", 0, [](int rank) { return rank / 2; }));
  all.push_back(hierarchy_of("hosts of three ranks, in segments", 16, [](int r) { return r / 3; }));
  all.push_back(hierarchy_of("ranks dealt out to two hosts", 7, [](int rank) { return rank % 2; }));
  all.push_back(hierarchy_of("a host of one rank and one of the others", 0,
                             [](int rank) { return rank == 1 ? 5 : 3; }));
  all.push_back(hierarchy_of("a host of two ranks and one of the others", 7,
                             [](int rank) { return rank < 2 ? 0 : 1; }));
  all.push_back(hierarchy_of("one host", 7, [](int) { return 4; }));
  all.push_back(hierarchy_of("one rank a host", 7, [](int rank) { return rank; }));
  return all;
}

}  // namespace rueda::test
