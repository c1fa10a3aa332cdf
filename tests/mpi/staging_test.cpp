// Which memory MPI gets to see. What staged sums are is shown on threads, in tests/unit/mpi.
#include <mpi.h>

#include "mpi/exchange/mpi_exchange.hpp"
#include "mpi/exchange/staged_exchange.hpp"
#include "mpi/sums/mpi_all_reduce.hpp"
#include "tests/support/all_reduce_cases.hpp"
#include "tests/support/mpi_check.hpp"
#include "tests/support/mpi_spy.hpp"

namespace rueda::test {
namespace {

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
  return make(algorithm, std::make_unique<MpiExchange>(comm), device);
}

std::unique_ptr<AllReduce> staged(Algorithm algorithm, Communicator& comm, ReduceDevice& device,
                                  std::size_t piece) {
  return make(algorithm,
              std::make_unique<StagedExchange>(std::make_unique<MpiExchange>(comm), device, piece),
              device);
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
      ReduceJournal unread;
      device.wait(reduce->sum(slice, device.record(), unread));
      const auto seen = spy.seen();
      CAPTURE(reduce->name(), through_host, seen.device, seen.host, device.staged_copies());
      CHECK_ON_ALL_RANKS((seen.device > 0) == (!alone && !through_host));
      CHECK_ON_ALL_RANKS((seen.host > 0) == (!alone && through_host));
      CHECK_ON_ALL_RANKS((device.staged_copies() > 0) == (!alone && through_host));
    }
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
