#include <catch2/catch.hpp>

#include "commands/bench/bench.hpp"
#include "mpi/probes/link_probe.hpp"
#include "mpi/sums/mpi_all_reduce.hpp"
#include "tests/support/all_reduce_cases.hpp"
#include "tests/support/host_reduce_device.hpp"
#include "tests/support/mpi_check.hpp"
#include "tests/support/values.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

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
      CHECK_ON_ALL_RANKS(device.scratch_floats() <= std::max(scratch, peers));
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

TEST_CASE("a layout numbers hosts by their first ranks; some keep the order of the tree",
          "[hierarchical]") {
  const HostLayout layout({7, 2, 7, 2, 2, 9});
  CHECK(layout.hosts() == 3);
  CHECK(layout.host_of(0) == 0);
  CHECK(layout.host_of(4) == 1);
  CHECK(layout.ranks_on(1) == std::vector<int>{1, 3, 4});
  CHECK(layout.local_rank_of(2) == 1);
  CHECK(layout.local_rank_of(4) == 2);
  CHECK(layout.fewest() == 1);
  CHECK(layout.most() == 3);
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
  for (const ReduceSpan& span : reduce->journal().take_spans())
    if (span.act.to >= 0 && span.act.to / 2 != comm.rank() / 2) ++to_other_hosts;
  const int hosts = comm.size() / 2;
  CHECK_ON_ALL_RANKS(to_other_hosts == 2 * (hosts - 1));
}

// What `rueda bench explain` prints is what the all-reduces send.
struct Call {
  int to = -1;    ///< -1: it sent nothing
  int from = -1;  ///< -1: it received nothing
  std::size_t floats = 0;
  bool operator==(const Call&) const = default;
};
using Calls = std::vector<Call>;

/// Notes each message of this rank.
class NotingExchange final : public Exchange {
 public:
  NotingExchange(Communicator& ranks, Calls& calls) : Exchange(ranks), calls_(calls) {}
  void sendrecv(std::span<const float> send, int to, std::span<float> receive, int from) override {
    calls_.push_back({send.empty() ? -1 : to, receive.empty() ? -1 : from,
                      std::max(send.size(), receive.size())});
    Exchange::sendrecv(send, to, receive, from);
  }

 private:
  Calls& calls_;
};

std::unique_ptr<AllReduce> make(Algorithm algorithm, std::unique_ptr<Exchange> exchange,
                                ReduceDevice& device) {
  if (algorithm == Algorithm::doubling)
    return std::make_unique<DoublingAllReduce>(std::move(exchange), device);
  return std::make_unique<CentralAllReduce>(std::move(exchange), device);
}

/// The calls of one rank, by the schedule.
Calls planned(const bench::Schedule& schedule, int rank) {
  Calls calls;
  for (const bench::Step& step : schedule.steps) {
    Call call;
    for (const bench::Message& m : step.messages) {
      if (m.from == rank) call.to = m.to;
      if (m.to == rank) call.from = m.from;
    }
    call.floats = schedule.length;
    if (call.to >= 0 || call.from >= 0) calls.push_back(call);
  }
  return calls;
}

TEST_CASE("doubling and central send what bench explains", "[many]") {
  Communicator comm;
  for (const Algorithm algorithm : {Algorithm::doubling, Algorithm::central}) {
    HostReduceDevice device;
    Calls calls;
    const auto reduce = make(algorithm, std::make_unique<NotingExchange>(comm, calls), device);
    std::vector<float> slice(5, 1.0F);
    device.wait(reduce->sum(slice, device.record()));
    CAPTURE(to_string(algorithm));
    CHECK_ON_ALL_RANKS(calls ==
                       planned(bench::schedule_of(algorithm, comm.size(), 5), comm.rank()));
  }
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
}

}  // namespace
