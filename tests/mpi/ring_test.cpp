#include "mpi/sums/message_sums.hpp"
#include "tests/support/all_reduce_cases.hpp"
#include "tests/support/tree_sums.hpp"

using namespace rueda;
using namespace rueda::test;

TEST_CASE("MPI_Allreduce sums exactly at every length, too", "[ring]") {
  for (const std::size_t limit : {7u, 1000000u}) {
    Communicator comm(MPI_COMM_WORLD, limit);
    LazyReduceDevice device;
    MpiAllReduce reduce(std::make_unique<Exchange>(comm), device);
    for (const std::size_t length : lengths_for(comm.size())) {
      if (limit == 7 && length > 5000) continue;
      CAPTURE(limit, length);
      CHECK_ON_ALL_RANKS(sums_exactly(reduce, device, comm, length));
    }
  }
}

TEST_CASE("the ring adds chunk c in the order c, c+1, ...", "[ring]") {
  Communicator comm;
  HostReduceDevice device;
  RingAllReduce ring(std::make_unique<Exchange>(comm), device);
  constexpr std::size_t length = 1003;
  const auto mine = rough_sum(ring, device, comm.rank(), length);
  const RingPlan plan{length, comm.rank(), comm.size()};
  std::vector<float> expected(length);
  for (int c = 0; c < comm.size(); ++c) {
    for (std::size_t i = plan.chunk(c).begin; i < plan.chunk(c).end; ++i) {
      float sum = rough_value(c, i);
      for (int k = 1; k < comm.size(); ++k) sum = rough_value((c + k) % comm.size(), i) + sum;
      expected[i] = sum;
    }
  }
  CHECK_ON_ALL_RANKS(same_bits(mine, expected));
}

TEST_CASE("the ring tells where its time went", "[ring]") {
  Communicator comm;
  HostReduceDevice device;
  RingAllReduce ring(std::make_unique<Exchange>(comm), device);
  std::vector<float> slice(100003, 1.0f);
  ring.sum(slice, {});
  const auto times = ring.journal().take_times();
  const bool alone = comm.size() == 1;
  CHECK_ON_ALL_RANKS(alone ? times.transfer == 0 : times.transfer > 0);
  CHECK_ON_ALL_RANKS(alone ? times.add == 0 : times.add > 0);
  CHECK_ON_ALL_RANKS(ring.journal().take_times().transfer == 0);
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
      const auto peers = std::size_t(comm.size() - 1);
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
