// The all-reduces of devices whose memory MPI cannot read, and of devices that are late.
#include <functional>
#include <utility>

#include <mpi.h>

#include "mpi/exchange/staged_exchange.hpp"
#include "mpi/sums/mpi_all_reduce.hpp"
#include "tests/support/all_reduce_cases.hpp"

namespace rueda::test {
namespace {

/// Looks at the pointers that MPI_Sendrecv and MPI_Allreduce are handed, as long as it lives. One
/// at a time. (This program defines both functions itself and passes them on by their PMPI names.)
class MpiSpy {
 public:
  struct Seen {
    std::size_t device = 0;  ///< pointers into the device's memory
    std::size_t host = 0;    ///< others; those of empty messages are not counted
  };

  /// `is_device`: whether an address is of a device's memory, not of the host's.
  explicit MpiSpy(std::function<bool(const void*)> is_device) : is_device_(std::move(is_device)) {
    active_ = this;
  }
  ~MpiSpy() { active_ = nullptr; }
  MpiSpy(const MpiSpy&) = delete;
  MpiSpy& operator=(const MpiSpy&) = delete;

  const Seen& seen() const { return seen_; }
  static void look_at(const void* pointer, int count) {
    if (active_ == nullptr || count == 0) return;
    ++(active_->is_device_(pointer) ? active_->seen_.device : active_->seen_.host);
  }

 private:
  static inline MpiSpy* active_ = nullptr;
  std::function<bool(const void*)> is_device_;
  Seen seen_;
};

enum class Algorithm { ring, fixed, mpi };
constexpr Algorithm kAlgorithms[] = {Algorithm::ring, Algorithm::fixed, Algorithm::mpi};

std::unique_ptr<AllReduce> make(Algorithm algorithm, std::unique_ptr<Exchange> exchange,
                                ReduceDevice& device) {
  if (algorithm == Algorithm::ring)
    return std::make_unique<RingAllReduce>(std::move(exchange), device);
  if (algorithm == Algorithm::fixed)
    return std::make_unique<FixedOrderAllReduce>(std::move(exchange), device, 100);
  return std::make_unique<MpiAllReduce>(std::move(exchange), device);
}

std::unique_ptr<AllReduce> direct(Algorithm algorithm, Communicator& comm, ReduceDevice& device) {
  return make(algorithm, std::make_unique<Exchange>(comm), device);
}

std::unique_ptr<AllReduce> staged(Algorithm algorithm, Communicator& comm, ReduceDevice& device,
                                  std::size_t piece = StagedExchange::kPieceElements) {
  return make(algorithm, std::make_unique<StagedExchange>(comm, device, piece), device);
}

/// Chunks of no, one, two and more pieces, one element to both sides of each.
std::vector<std::size_t> lengths_around(std::size_t piece, int ranks) {
  std::vector<std::size_t> lengths;
  for (std::size_t pieces = 0; pieces <= 4; ++pieces) {
    const std::size_t whole = pieces * piece * std::size_t(ranks);
    if (whole > 0) lengths.push_back(whole - 1);
    lengths.push_back(whole);
    lengths.push_back(whole + 1);
  }
  return lengths;
}

TEST_CASE("staged sums are exact at every length", "[staging]") {
  Communicator comm;
  for (const Algorithm algorithm : kAlgorithms) {
    for (const std::size_t piece : {1u, 16u, 5000u}) {
      LazyReduceDevice device;
      const auto reduce = staged(algorithm, comm, device, piece);
      for (const std::size_t length : lengths_for(comm.size())) {
        if (piece == 1 && length > 1000) continue;
        CAPTURE(reduce->name(), piece, length);
        CHECK_ON_ALL_RANKS(sums_exactly(*reduce, device, comm, length));
      }
    }
  }
}

// The two extremes: work done at once, which overwrites what should still be sent, and as late as
// can be, which leaves what should have been written.
TEMPLATE_TEST_CASE("staged and direct sums have the same bits", "[staging]", HostReduceDevice,
                   LazyReduceDevice) {
  constexpr std::size_t piece = 33;
  Communicator comm;
  TestType device;
  for (const Algorithm algorithm : kAlgorithms) {
    const auto without = direct(algorithm, comm, device);
    const auto with = staged(algorithm, comm, device, piece);
    for (const std::size_t length : lengths_around(piece, comm.size())) {
      const auto expected = rough_sum(*without, device, comm.rank(), length);
      const auto sum = rough_sum(*with, device, comm.rank(), length);
      CAPTURE(with->name(), length);
      CHECK_ON_ALL_RANKS(same_bits(sum, expected));
    }
  }
}

TEST_CASE("long chunks are staged in pieces of the usual size", "[staging]") {
  const std::size_t chunk = 2 * StagedExchange::kPieceElements + 1;
  Communicator comm;
  LazyReduceDevice device;
  const auto reduce = staged(Algorithm::ring, comm, device);
  CHECK_ON_ALL_RANKS(sums_exactly(*reduce, device, comm, chunk * std::size_t(comm.size())));
}

TEST_CASE("staging goes above the count limit", "[staging]") {
  Communicator comm(MPI_COMM_WORLD, 7);
  LazyReduceDevice device;
  for (const Algorithm algorithm : kAlgorithms) {
    const auto reduce = staged(algorithm, comm, device, 16);
    CAPTURE(reduce->name());
    CHECK_ON_ALL_RANKS(sums_exactly(*reduce, device, comm, 1003));
  }
}

TEST_CASE("MPI sees host memory only when staged, device memory only when not", "[staging]") {
  Communicator comm;
  const bool alone = comm.size() == 1;
  for (const Algorithm algorithm : kAlgorithms) {
    for (const bool through_host : {false, true}) {
      SlowReduceDevice device(unsigned(comm.rank()));
      const auto reduce =
          through_host ? staged(algorithm, comm, device, 100) : direct(algorithm, comm, device);
      const auto slice = device.allocate(1003);
      MpiSpy spy([&](const void* pointer) { return device.owns(pointer); });
      device.wait(reduce->sum(slice, device.record()));
      const auto seen = spy.seen();
      CAPTURE(reduce->name(), through_host, seen.device, seen.host, device.staged_copies());
      CHECK_ON_ALL_RANKS((seen.device > 0) == (!alone && !through_host));
      CHECK_ON_ALL_RANKS((seen.host > 0) == (!alone && through_host));
      CHECK_ON_ALL_RANKS((device.staged_copies() > 0) == (!alone && through_host));
    }
  }
}

TEST_CASE("staging takes no other scratch memory of the device", "[staging]") {
  Communicator comm;
  for (const Algorithm algorithm : kAlgorithms) {
    HostReduceDevice device;
    const auto reduce = staged(algorithm, comm, device, 16);
    std::vector<float> slice(1003, 1.0F);
    device.wait(reduce->sum(slice, device.record()));
    CAPTURE(reduce->name());
    CHECK_ON_ALL_RANKS(device.scratch_floats() == reduce->scratch_floats(1003));
  }
}

}  // namespace
}  // namespace rueda::test

extern "C" int MPI_Sendrecv(const void* send, int send_count, MPI_Datatype send_type, int to,
                            int send_tag, void* receive, int receive_count,
                            MPI_Datatype receive_type, int from, int receive_tag, MPI_Comm comm,
                            MPI_Status* status) {
  rueda::test::MpiSpy::look_at(send, send_count);
  rueda::test::MpiSpy::look_at(receive, receive_count);
  return PMPI_Sendrecv(send, send_count, send_type, to, send_tag, receive, receive_count,
                       receive_type, from, receive_tag, comm, status);
}

extern "C" int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type,
                             MPI_Op operation, MPI_Comm comm) {
  rueda::test::MpiSpy::look_at(receive, count);
  return PMPI_Allreduce(send, receive, count, type, operation, comm);
}
