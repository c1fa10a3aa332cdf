#include <catch2/catch.hpp>

#include "mpi/exchange/mpi_exchange.hpp"
#include "mpi/probes/link_probe.hpp"
#include "mpi/sums/mpi_all_reduce.hpp"
#include "tests/support/all_reduce_cases.hpp"
#include "tests/support/mpi_check.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

TEST_CASE("MPI_Allreduce sums exactly at every length, too", "[ring]") {
  for (const std::size_t limit : {7u, 1000000u}) {
    Communicator comm(MPI_COMM_WORLD, limit);
    LazyReduceDevice device;
    MpiAllReduce reduce(std::make_unique<MpiExchange>(comm), device);
    for (const std::size_t length : lengths_for(comm.size())) {
      if (limit == 7 && length > 5000) continue;
      CAPTURE(limit, length);
      CHECK_ON_ALL_RANKS(sums_exactly(reduce, device, comm, length));
    }
  }
}

TEST_CASE("MPI tells one host here", "[hierarchical]") {
  Communicator comm;
  const HostLayout layout(all_gather(comm, comm.node_leader()));
  CHECK_ON_ALL_RANKS(layout.hosts() == 1);
  CHECK_ON_ALL_RANKS(layout.fewest() == comm.size());
  CHECK_ON_ALL_RANKS(layout.local_rank_of(comm.rank()) == comm.local_rank());
}

/// Loses one element of every message beyond `at`.
class LossyBuffer final : public rueda::ExchangeBuffer {
 public:
  LossyBuffer(std::size_t floats, std::size_t at) : inner_(floats), at_(at) {}
  std::span<float> send_side() override { return inner_.send_side(); }
  std::span<float> receive_side() override { return inner_.receive_side(); }
  void copy(std::span<float> to, std::span<const float> from) override {
    inner_.copy(to, from);
    if (from.data() == receive_side().data()) to[at_] = to[at_ - 1];
  }

 private:
  HostExchangeBuffer inner_;
  std::size_t at_;
};

TEST_CASE("patterns arrive in short and long messages", "[pattern_ring]") {
  Communicator world;
  HostExchangeBuffer buffer(1 << 20);
  for (const std::size_t floats : {1U, 256U, 65'537U, 1U << 20}) {
    const auto result = rueda::pattern_ring(world, buffer, floats);
    CHECK_ON_ALL_RANKS(result.floats == floats);
    CHECK_ON_ALL_RANKS(result.wrong == 0);
  }
}

TEST_CASE("an element that came wrongly is found where it is", "[pattern_ring]") {
  Communicator world;
  LossyBuffer buffer(1000, 700);
  const auto result = rueda::pattern_ring(world, buffer, 1000);
  CHECK_ON_ALL_RANKS(result.wrong == 1);
  CHECK_ON_ALL_RANKS(result.first_wrong == 700);
}

TEST_CASE("every rank measures its right neighbour", "[ping_pong]") {
  Communicator world;
  HostExchangeBuffer buffer(rueda::kPingPongBytes / sizeof(float));
  const auto speed = rueda::ping_pong(world, buffer);
  const bool alone = world.size() == 1;
  CHECK_ON_ALL_RANKS((speed.latency_us > 0) == !alone);
  CHECK_ON_ALL_RANKS((speed.gb_per_second > 0) == !alone);
  const double copies = rueda::two_copies_speed(world, buffer);
  CHECK_ON_ALL_RANKS(copies > 0);
}

}  // namespace
