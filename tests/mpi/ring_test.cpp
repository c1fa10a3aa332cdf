#include "mpi/sums/message_sums.hpp"
#include "tests/support/all_reduce_cases.hpp"

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

TEST_CASE("the ring repeats its bits from run to run, in pieces too", "[ring]") {
  Communicator whole;
  Communicator in_pieces(MPI_COMM_WORLD, 7);
  HostReduceDevice device;
  RingAllReduce first(std::make_unique<Exchange>(whole), device);
  RingAllReduce second(std::make_unique<Exchange>(in_pieces), device);
  const auto once = rough_sum(first, device, whole.rank(), 4099);
  CHECK_ON_ALL_RANKS(same_bits(once, rough_sum(first, device, whole.rank(), 4099)));
  CHECK_ON_ALL_RANKS(same_bits(once, rough_sum(second, device, whole.rank(), 4099)));
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
