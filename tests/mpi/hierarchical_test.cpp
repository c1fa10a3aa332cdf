#include "tests/support/all_reduce_cases.hpp"
#include "tests/support/own_algorithms.hpp"
#include "tests/support/tree_sums.hpp"

using namespace rueda;
using namespace rueda::test;

TEST_CASE("a layout numbers hosts by their first ranks", "[hierarchical]") {
  const HostLayout layout({7, 2, 7, 2, 2, 9});
  CHECK(layout.hosts() == 3);
  CHECK(layout.host_of(0) == 0);
  CHECK(layout.host_of(4) == 1);
  CHECK(layout.ranks_on(1) == std::vector<int>{1, 3, 4});
  CHECK(layout.local_rank_of(2) == 1);
  CHECK(layout.local_rank_of(4) == 2);
  CHECK(layout.fewest() == 1);
  CHECK(layout.most() == 3);
}

TEST_CASE("which layouts keep the order of the tree", "[hierarchical]") {
  CHECK(HostLayout({3, 3, 3}).keeps_tree_order());
  CHECK(HostLayout({0, 1, 2}).keeps_tree_order());
  CHECK(HostLayout({0, 0, 1, 1, 2, 2}).keeps_tree_order());
  CHECK_FALSE(HostLayout({0, 1, 0, 1}).keeps_tree_order());
  CHECK_FALSE(HostLayout({0, 0, 0, 1, 1, 1}).keeps_tree_order());
  CHECK_FALSE(HostLayout({0, 0, 1}).keeps_tree_order());
}

TEST_CASE("MPI tells one host here", "[hierarchical]") {
  Communicator comm;
  const HostLayout layout = HostLayout::of(comm);
  CHECK_ON_ALL_RANKS(layout.hosts() == 1);
  CHECK_ON_ALL_RANKS(layout.fewest() == comm.size());
  CHECK_ON_ALL_RANKS(layout.local_rank_of(comm.rank()) == comm.local_rank());
}

TEST_CASE("hosts of two ranks each keep the fixed order", "[hierarchical]") {
  Communicator comm;
  if (comm.size() % 2 != 0) return;
  HostReduceDevice device;
  const Candidate pairs = hierarchy_of(
      "pairs", 0, [](int rank) { return rank / 2; }, true);
  const auto reduce = pairs.make({comm, device});
  const auto mine = rough_sum(*reduce, device, comm.rank(), 1003);
  CHECK_ON_ALL_RANKS(same_bits(mine, serial_trees(comm.size(), 1003)));
}

TEST_CASE("between hosts only shards travel", "[hierarchical]") {
  Communicator comm;
  if (comm.size() % 2 != 0) return;
  HostReduceDevice device;
  const Candidate pairs = hierarchy_of("pairs", 0, [](int rank) { return rank / 2; });
  const auto reduce = pairs.make({comm, device});
  reduce->journal().keep_spans(true);
  std::vector<float> slice(1000, 1.0F);
  reduce->sum(slice, {});
  int to_other_hosts = 0;
  for (const ReduceSpan& span : reduce->journal().take_spans()) {
    if (span.act.to >= 0 && span.act.to / 2 != comm.rank() / 2) ++to_other_hosts;
  }
  const int hosts = comm.size() / 2;
  CHECK_ON_ALL_RANKS(to_other_hosts == 2 * (hosts - 1));
}
