#include "mpi/sums/message_sums.hpp"
#include "tests/support/all_reduce_cases.hpp"
#include "tests/support/tree_sums.hpp"

using namespace rueda;
using namespace rueda::test;

TEST_CASE("the fixed order has the bits of one rank that adds alone", "[fixed_order]") {
  Communicator comm;
  LazyReduceDevice device;
  FixedOrderAllReduce fixed(std::make_unique<Exchange>(comm), device);
  for (const std::size_t length : lengths_for(comm.size())) {
    const auto mine = rough_sum(fixed, device, comm.rank(), length);
    CAPTURE(length);
    CHECK_ON_ALL_RANKS(same_bits(mine, serial_trees(comm.size(), length)));
  }
}

TEST_CASE("neither blocks, pieces nor slices change a bit", "[fixed_order]") {
  const std::size_t length = 1003;
  for (const std::size_t scratch : {1u, 10u, 64u, 5000u}) {
    for (const std::size_t limit : {7u, 1000000u}) {
      Communicator comm(MPI_COMM_WORLD, limit);
      LazyReduceDevice device;
      FixedOrderAllReduce fixed(std::make_unique<Exchange>(comm), device, scratch);
      auto slice = filled<rough_value>(comm.rank(), length);
      fixed.sum(std::span(slice).first(409), device.record());
      fixed.sum(std::span(slice).subspan(409), device.record());
      CAPTURE(scratch, limit);
      CHECK_ON_ALL_RANKS(same_bits(slice, serial_trees(comm.size(), length)));
      const auto peers = static_cast<std::size_t>(comm.size() - 1);
      CHECK_ON_ALL_RANKS(device.largest_scratch() <= std::max(scratch, peers));
    }
  }
}

TEST_CASE("the fixed order differs from the ring's, else it would prove nothing", "[fixed_order]") {
  Communicator comm;
  HostReduceDevice device;
  FixedOrderAllReduce fixed(std::make_unique<Exchange>(comm), device);
  RingAllReduce ring(std::make_unique<Exchange>(comm), device);
  const auto in_order = rough_sum(fixed, device, comm.rank(), 4099);
  const auto round_the_ring = rough_sum(ring, device, comm.rank(), 4099);
  CHECK_ON_ALL_RANKS(same_bits(in_order, round_the_ring) == (comm.size() <= 2));
  CHECK_ON_ALL_RANKS(close_to(in_order, round_the_ring, comm.size()));
}

TEST_CASE("ranks that added micro-batches first have the bits of one rank", "[fixed_order]") {
  constexpr int micro_batches = 4;
  constexpr std::size_t length = 1000;
  Communicator comm;
  LazyReduceDevice device;
  FixedOrderAllReduce fixed(std::make_unique<Exchange>(comm), device);
  std::vector<float> slice(length);
  for (std::size_t i = 0; i < length; ++i) {
    const int first = comm.rank() * micro_batches;
    slice[i] = (rough_value(first, i) + rough_value(first + 1, i)) +
               (rough_value(first + 2, i) + rough_value(first + 3, i));
  }
  fixed.sum(slice, device.record());
  CHECK_ON_ALL_RANKS(same_bits(slice, serial_trees(comm.size() * micro_batches, length)));
}
