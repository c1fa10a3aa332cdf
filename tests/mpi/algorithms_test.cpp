// What holds for every own all-reduce alike.
#include <chrono>
#include <thread>

#include "tests/support/all_reduce_cases.hpp"
#include "tests/support/own_algorithms.hpp"
#include "tests/support/slow_reduce_device.hpp"
#include "tests/support/tree_sums.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

/// An exchange of a rank that is sometimes late.
class DelayedExchange final : public Exchange {
 public:
  explicit DelayedExchange(Communicator& ranks)
      : Exchange(ranks), random_(unsigned(ranks.world_rank(ranks.rank())) + 3) {}

  void sendrecv(std::span<const float> send, int to, std::span<float> receive, int from) override {
    if (random_() % 4 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(random_() % 2000));
    }
    Exchange::sendrecv(send, to, receive, from);
  }

 private:
  std::minstd_rand random_;
};

}  // namespace

TEST_CASE("every algorithm sums whole numbers exactly at every length", "[algorithms][many]") {
  Communicator comm;
  for (const Candidate& candidate : own_algorithms()) {
    LazyReduceDevice device;
    const auto reduce = candidate.make({comm, device});
    for (const std::size_t length : lengths_for(comm.size())) {
      if (length > candidate.longest) continue;
      CAPTURE(candidate.name, length);
      CHECK_ON_ALL_RANKS(sums_exactly(*reduce, device, comm, length));
    }
  }
}

TEST_CASE("every algorithm sums exactly above the count limit", "[algorithms]") {
  for (const std::size_t limit : {1u, 7u, 64u}) {
    Communicator comm(MPI_COMM_WORLD, limit);
    for (const Candidate& candidate : own_algorithms()) {
      LazyReduceDevice device;
      const auto reduce = candidate.make({comm, device});
      for (const std::size_t length : {6u, 7u, 8u, 101u}) {
        CAPTURE(candidate.name, limit, length);
        CHECK_ON_ALL_RANKS(sums_exactly(*reduce, device, comm, length));
      }
    }
  }
}

TEST_CASE("every algorithm leaves the same bits on all ranks, near MPI_Allreduce's",
          "[algorithms][many]") {
  Communicator comm;
  HostReduceDevice device;
  MpiAllReduce mpi(std::make_unique<Exchange>(comm), device);
  for (const Candidate& candidate : own_algorithms()) {
    const auto reduce = candidate.make({comm, device});
    for (const std::size_t length : {1u, 13u, 101u, 4099u}) {
      if (length > candidate.longest) continue;
      const auto mine = rough_sum(*reduce, device, comm.rank(), length);
      const auto reference = rough_sum(mpi, device, comm.rank(), length);
      CAPTURE(candidate.name, length);
      CHECK_ON_ALL_RANKS(same_bits_on_all_ranks(comm, mine));
      CHECK_ON_ALL_RANKS(close_to(mine, reference, comm.size()));
      CHECK_ON_ALL_RANKS(same_bits(mine, rough_sum(*reduce, device, comm.rank(), length)));
    }
  }
}

TEST_CASE("what adds along the tree has the bits of one rank that adds alone",
          "[algorithms][many]") {
  Communicator comm;
  HostReduceDevice device;
  for (const Candidate& candidate : own_algorithms()) {
    if (!candidate.has_tree_order) continue;
    const auto reduce = candidate.make({comm, device});
    for (const std::size_t length : lengths_for(comm.size())) {
      if (length > candidate.longest) continue;
      auto slice = filled<rough_value>(comm.rank(), length);
      reduce->sum(std::span(slice).first(length / 3), {});
      reduce->sum(std::span(slice).subspan(length / 3), {});
      CAPTURE(candidate.name, length);
      CHECK_ON_ALL_RANKS(same_bits(slice, serial_trees(comm.size(), length)));
    }
  }
}

TEST_CASE("neither segments nor pieces of messages change a bit of the ring",
          "[algorithms][many]") {
  Communicator comm;
  Communicator in_pieces(MPI_COMM_WORLD, 7);
  HostReduceDevice device;
  RingAllReduce whole(std::make_unique<Exchange>(comm), device);
  for (const std::size_t length : {5u, 101u, 203u}) {
    const auto expected = rough_sum(whole, device, comm.rank(), length);
    for (const std::size_t segment : {1u, 2u, 3u, 16u, 100u, 5000u}) {
      RingAllReduce ring(std::make_unique<Exchange>(comm), device, segment);
      CAPTURE(length, segment);
      CHECK_ON_ALL_RANKS(same_bits(expected, rough_sum(ring, device, comm.rank(), length)));
    }
    RingAllReduce pieces(std::make_unique<Exchange>(in_pieces), device);
    CHECK_ON_ALL_RANKS(same_bits(expected, rough_sum(pieces, device, comm.rank(), length)));
  }
}

TEST_CASE("every algorithm takes the scratch memory that it tells", "[algorithms]") {
  Communicator comm;
  for (const Candidate& candidate : own_algorithms()) {
    for (const std::size_t length : lengths_for(comm.size())) {
      if (length > candidate.longest) continue;
      HostReduceDevice device;
      const auto reduce = candidate.make({comm, device});
      std::vector<float> slice(length, 1.0F);
      device.wait(reduce->sum(slice, device.record()));
      CAPTURE(candidate.name, length, device.scratch_floats(), reduce->scratch_floats(length));
      CHECK_ON_ALL_RANKS(device.scratch_floats() == reduce->scratch_floats(length));
    }
  }
}

TEST_CASE("every algorithm waits for a device that is late", "[algorithms]") {
  Communicator comm;
  for (const Candidate& candidate : own_algorithms()) {
    for (const bool through_host : {false, true}) {
      SlowReduceDevice device(unsigned(comm.rank()) + 11);
      const auto staged = [&](Communicator& ranks) -> std::unique_ptr<Exchange> {
        return std::make_unique<StagedExchange>(ranks, device, 50);
      };
      const auto reduce =
          candidate.make({comm, device, through_host ? MakeExchange(staged) : direct_exchange});
      for (const std::size_t length : {1u, 29u, 203u}) {
        CAPTURE(candidate.name, through_host, length);
        CHECK_ON_ALL_RANKS(sums_exactly(*reduce, device, comm, length));
        CHECK_ON_ALL_RANKS(device.pending_events() == 0);
      }
    }
  }
}

TEST_CASE("ranks that are late now and then change nothing", "[algorithms][many]") {
  Communicator comm;
  const auto delayed = [](Communicator& ranks) -> std::unique_ptr<Exchange> {
    return std::make_unique<DelayedExchange>(ranks);
  };
  for (const Candidate& candidate : own_algorithms()) {
    LazyReduceDevice device;
    const auto reduce = candidate.make({comm, device, delayed});
    CAPTURE(candidate.name);
    CHECK_ON_ALL_RANKS(sums_exactly(*reduce, device, comm, 61));
  }
}

TEST_CASE("an all-reduce writes into the book that it is given", "[algorithms]") {
  Communicator comm;
  HostReduceDevice device;
  ReduceJournal book;
  for (const Candidate& candidate : own_algorithms()) {
    const auto reduce = candidate.make({comm, device});
    reduce->write_into(book);
    std::vector<float> slice(1003, 1.0F);
    reduce->sum(slice, {});
    const double transfer = book.take_times().transfer;
    CAPTURE(candidate.name);
    CHECK_ON_ALL_RANKS((transfer > 0) == (comm.size() > 1));
  }
}
