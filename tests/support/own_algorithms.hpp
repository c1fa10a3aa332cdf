#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "mpi/sums/hierarchical_all_reduce.hpp"

namespace rueda::test {

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
