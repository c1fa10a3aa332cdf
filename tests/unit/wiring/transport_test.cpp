#include "wiring/transport.hpp"

#include <string>

#include <catch2/catch.hpp>

#include "rueda/core/error.hpp"

using Catch::Matchers::Contains;
using rueda::decide_transport;
using rueda::Transport;
using rueda::TransportChoice;

namespace {

const rueda::CudaVerdict kAware{true, "it says so"};
const rueda::CudaVerdict kUnaware{false, "it was built without"};

}  // namespace

TEST_CASE("host memory goes to MPI as it is", "[transport]") {
  const auto decision = decide_transport(TransportChoice::automatic, true, kUnaware);
  CHECK(decision.transport == Transport::host);
  CHECK(decision.warning.empty());
}

TEST_CASE("host memory is neither staged nor a device's", "[transport]") {
  CHECK_THROWS_AS(decide_transport(TransportChoice::staged, true, kAware), rueda::InputError);
  CHECK_THROWS_WITH(decide_transport(TransportChoice::staged, true, kAware),
                    Contains("--transport staged") && Contains("needs no staging"));
  CHECK_THROWS_WITH(decide_transport(TransportChoice::device, true, kAware),
                    Contains("--transport device"));
}

TEST_CASE("the user's word outweighs what MPI says", "[transport]") {
  for (const auto& mpi : {kAware, kUnaware}) {
    CHECK(decide_transport(TransportChoice::staged, false, mpi).transport == Transport::staged);
    CHECK(decide_transport(TransportChoice::staged, false, mpi).warning.empty());
    CHECK(decide_transport(TransportChoice::device, false, mpi).transport == Transport::device);
    CHECK(decide_transport(TransportChoice::device, false, mpi).warning.empty());
  }
}

TEST_CASE("left alone, MPI decides, and staging is told with its reason", "[transport]") {
  const auto aware = decide_transport(TransportChoice::automatic, false, kAware);
  CHECK(aware.transport == Transport::device);
  CHECK(aware.warning.empty());
  const auto unaware = decide_transport(TransportChoice::automatic, false, kUnaware);
  CHECK(unaware.transport == Transport::staged);
  CHECK_THAT(unaware.warning, Contains("it was built without") && Contains("--transport"));
  CHECK(unaware.warning.find('\n') == std::string::npos);
}
