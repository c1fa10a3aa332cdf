#include <thread>

#include <catch2/catch.hpp>

#include "mpi/session/communicator.hpp"
#include "mpi/session/mpi_call.hpp"
#include "rueda/core/error.hpp"
#include "tests/support/mpi_check.hpp"

using namespace rueda;

namespace {

/// What `work` throws on another thread; empty: nothing.
template <class Work>
std::string failure_elsewhere(Work work) {
  std::string failure;
  std::thread([&] {
    try {
      work();
    } catch (const RunError& error) {
      failure = error.what();
    }
  }).join();
  return failure;
}

}  // namespace

TEST_CASE("MPI is called by one thread at a time") {
  Communicator world;
  std::string failure = failure_elsewhere([&] { world.barrier(); });
  CHECK_ON_ALL_RANKS(failure.find("MPI_Barrier") == 0);
  failure = failure_elsewhere([] { take_mpi_turn(); });
  CHECK_ON_ALL_RANKS(!failure.empty());
  give_mpi_turn();
  failure = failure_elsewhere([&] {
    take_mpi_turn();
    world.barrier();
    give_mpi_turn();
  });
  take_mpi_turn();
  CHECK_ON_ALL_RANKS(failure.empty());
  take_mpi_turn();  // twice does no harm
  world.barrier();
}

TEST_CASE("the call that a thread is inside of is known while it lasts") {
  CHECK_ON_ALL_RANKS(mpi_call_now().name == nullptr);
  {
    const MpiCall call("MPI_Something");
    CHECK_ON_ALL_RANKS(mpi_call_now().name == std::string("MPI_Something"));
    CHECK_ON_ALL_RANKS(mpi_call_now().since <= std::chrono::steady_clock::now());
  }
  CHECK_ON_ALL_RANKS(mpi_call_now().name == nullptr);
}

TEST_CASE("clocks of ranks on one machine agree within the error that is told") {
  Communicator world;
  const ClockOffset offset = world.clock_offset();
  CHECK_ON_ALL_RANKS(offset.error >= 0);
  CHECK_ON_ALL_RANKS(std::abs(offset.seconds) <= offset.error);
  CHECK_ON_ALL_RANKS(world.rank() > 0 || offset.error == 0);
}

TEST_CASE("parts of a group know their ranks in the world") {
  Communicator world;
  const Communicator part = world.split(world.rank() % 2, -world.rank());
  CHECK_ON_ALL_RANKS(part.size() == (world.size() + 1 - world.rank() % 2) / 2);
  CHECK_ON_ALL_RANKS(part.world_rank(part.rank()) == world.rank());
  // In the order of the key: the last first.
  CHECK_ON_ALL_RANKS(part.rank() == 0 || part.world_rank(part.rank() - 1) == world.rank() + 2);
}
