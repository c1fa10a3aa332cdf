#include "wiring/transport.hpp"

#include <string>

#include <catch2/catch.hpp>

#include "rueda/core/error.hpp"

using namespace rueda;
using Catch::Matchers::Contains;

namespace {

const CudaVerdict kAware{true, "it says so"};
const CudaVerdict kUnaware{false, "it was built without"};

}  // namespace

TEST_CASE("gradients go to MPI as the user says, else as MPI can", "[transport]") {
  const struct {
    TransportChoice choice;
    bool on_host;
    CudaVerdict mpi;
    Transport transport;
  } cases[] = {
      {TransportChoice::automatic, true, kUnaware, Transport::host},
      {TransportChoice::staged, false, kAware, Transport::staged},
      {TransportChoice::staged, false, kUnaware, Transport::staged},
      {TransportChoice::device, false, kAware, Transport::device},
      {TransportChoice::device, false, kUnaware, Transport::device},
      {TransportChoice::automatic, false, kAware, Transport::device},
  };
  for (const auto& c : cases) {
    CAPTURE(to_string(c.choice), c.on_host, c.mpi.aware);
    const TransportDecision decision = decide_transport(c.choice, c.on_host, c.mpi);
    CHECK(decision.transport == c.transport);
    CHECK(decision.warning.empty());
  }
  const auto unaware = decide_transport(TransportChoice::automatic, false, kUnaware);
  CHECK(unaware.transport == Transport::staged);
  CHECK_THAT(unaware.warning, Contains("it was built without") && Contains("--transport"));
  CHECK(unaware.warning.find('\n') == std::string::npos);
}

TEST_CASE("host memory is neither staged nor a device's", "[transport]") {
  CHECK_THROWS_AS(decide_transport(TransportChoice::staged, true, kAware), InputError);
  CHECK_THROWS_WITH(decide_transport(TransportChoice::staged, true, kAware),
                    Contains("--transport staged") && Contains("needs no staging"));
  CHECK_THROWS_WITH(decide_transport(TransportChoice::device, true, kAware),
                    Contains("--transport device"));
}

TEST_CASE("overlap: where a core is left over, or the host does not compute", "[overlap]") {
  constexpr auto automatic = Overlap::automatic;
  const struct {
    Overlap choice;
    OverlapFacts facts;  // ranks, turns, on the host, cores, threads, threads given
    OverlapDecision decision;
  } cases[] = {
      {automatic, {2, true, true, 4, 4, false}, {false, 4}},
      {automatic, {2, true, true, 4, 3, false}, {true, 3}},
      {automatic, {2, true, true, 3.5, 3, false}, {false, 3}},
      {Overlap::on, {2, true, true, 4, 4, false}, {true, 3}},  // takes a core of those that compute
      {Overlap::on, {2, true, true, 4, 4, true}, {true, 4}},
      {Overlap::on, {2, true, true, 1, 1, false}, {true, 1}},
      {Overlap::on, {2, true, true, 2, 1, false}, {true, 1}},
      {automatic, {2, true, false, 4, 4, false}, {true, 4}},
      {Overlap::off, {2, true, false, 4, 4, false}, {false, 4}},
      {Overlap::on, {1, true, false, 4, 4, false}, {false, 4}},  // one rank
      {automatic, {2, false, false, 4, 4, false}, {false, 4}},   // MPI is for one thread
  };
  for (const auto& c : cases) {
    CAPTURE(to_string(c.choice), c.facts.ranks, c.facts.cores, c.facts.threads);
    const OverlapDecision decision = decide_overlap(c.choice, c.facts);
    CHECK(decision.on == c.decision.on);
    CHECK(decision.threads == c.decision.threads);
  }
  CHECK_THROWS_AS(decide_overlap(Overlap::on, {2, false, false, 4, 4, false}), InputError);
}
