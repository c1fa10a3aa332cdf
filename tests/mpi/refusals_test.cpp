// What is impossible here, and all ranks refuse alike, so that one of them tells it.
#include <functional>
#include <string>

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "mpi/session/communicator.hpp"
#include "run/wiring/make_all_reduce.hpp"
#include "run/wiring/transport.hpp"
#include "tests/support/host_reduce_device.hpp"
#include "tests/support/mpi_check.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

/// What this rank refuses as agreed with the others; empty: nothing, or it is not agreed.
std::string agreed_refusal(const std::function<void()>& work) {
  try {
    work();
  } catch (const InputError& error) {
    return is_agreed(error) ? error.what() : "";
  }
  return "";
}

TEST_CASE("what looks at messages is refused for sums without any of our own", "[refusals]") {
  Communicator comm;
  HostReduceDevice device;
  ReduceSettings verified, corrupted;
  verified.verify_messages = true;
  corrupted.fault = {InjectedFault::Kind::corrupt_message, 1, 2};
  for (const auto& [settings, what] :
       {std::pair(verified, "--verify-messages"), {corrupted, "RUEDA_INJECT=corrupt-message"}}) {
    for (const Algorithm algorithm : {Algorithm::shared, Algorithm::mpi}) {
      ReduceSettings asked = settings;
      asked.algorithm = algorithm;
      const auto said = agreed_refusal([&] { make_all_reduce(asked, {comm, device}); });
      CAPTURE(what, to_string(algorithm));
      CHECK_ON_ALL_RANKS(contains(said, what));
      CHECK_ON_ALL_RANKS(contains(said, std::string("--all-reduce ") + to_string(algorithm)));
    }
  }
}

TEST_CASE("a transport of device memory is refused for host memory", "[refusals]") {
  Communicator comm;
  const HostReduceDevice device;
  for (const auto choice : {TransportChoice::staged, TransportChoice::device}) {
    const auto said = agreed_refusal([&] { agree_on_transport(comm, choice, device); });
    CHECK_ON_ALL_RANKS(contains(said, std::string("--transport ") + to_string(choice)));
    CHECK_ON_ALL_RANKS(contains(said, "needs no staging"));
  }
}

}  // namespace
