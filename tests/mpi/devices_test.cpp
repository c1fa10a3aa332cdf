// What ranks agree on about their GPUs, with GPUs that are made up.
#include <set>

#include "mpi/session/communicator.hpp"
#include "rueda/core/error.hpp"
#include "tests/support/host_reduce_device.hpp"
#include "tests/support/mpi_check.hpp"
#include "wiring/device_choice.hpp"
#include "wiring/transport.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

std::string uuid(int number) { return "GPU-" + std::to_string(number); }

}  // namespace

TEST_CASE("ranks with a GPU each pass without a remark", "[devices]") {
  Communicator comm;
  const auto remark = check_shared_devices(comm, {comm.host(), uuid(comm.rank())}, false);
  CHECK_ON_ALL_RANKS(remark.empty());
  CHECK_ON_ALL_RANKS(check_shared_devices(comm, {comm.host(), ""}, false).empty());
}

TEST_CASE("the first and the last rank on one GPU are refused by all", "[devices]") {
  Communicator comm;
  const int last = comm.size() - 1;
  const int gpu = comm.rank() == last ? 0 : comm.rank();
  const auto message = message_of<InputError>([&] {
    check_shared_devices(comm, {comm.host(), uuid(gpu)}, false);
  });
  const std::string who = "ranks 0 and " + std::to_string(last) + " on GPU-0 of " + comm.host();
  const bool alone = comm.size() == 1;
  CHECK_ON_ALL_RANKS(alone ? message.empty() : contains(message, who));
  CHECK_ON_ALL_RANKS(alone || contains(message, "--allow-shared-gpu"));
  CHECK_ON_ALL_RANKS(alone || contains(message, "--gres"));
}

TEST_CASE("sharing that is allowed is remarked once", "[devices]") {
  Communicator comm;
  const auto remark = check_shared_devices(comm, {comm.host(), uuid(0)}, true);
  CHECK_ON_ALL_RANKS(remark.empty() == (comm.size() == 1 || comm.rank() != 0));
}

TEST_CASE("GPUs of different hosts are different", "[devices]") {
  Communicator comm;
  const std::string host = "node" + std::to_string(comm.rank());
  CHECK_ON_ALL_RANKS(check_shared_devices(comm, {host, uuid(0)}, false).empty());
}

TEST_CASE("ranks agree on host memory without staging", "[devices]") {
  Communicator comm;
  const HostReduceDevice device;
  const auto decision = agree_on_transport(comm, TransportChoice::automatic, device);
  CHECK_ON_ALL_RANKS(decision.transport == Transport::host);
  CHECK_ON_ALL_RANKS(decision.warning.empty());
  const auto message =
      message_of<InputError>([&] { agree_on_transport(comm, TransportChoice::staged, device); });
  CHECK_ON_ALL_RANKS(contains(message, "--transport staged"));
}

TEST_CASE("all ranks stage as soon as one has to", "[devices]") {
  Communicator comm;
  const LazyReduceDevice device;  // whose memory is not the host's
  const int last = comm.size() - 1;
  const auto mine = comm.rank() == last ? TransportChoice::staged : TransportChoice::device;
  const auto decision = agree_on_transport(comm, mine, device);
  CHECK_ON_ALL_RANKS(decision.transport == Transport::staged);
}

TEST_CASE("all ranks decide alike about device memory, and one warns", "[devices]") {
  Communicator comm;
  const LazyReduceDevice device;
  const auto decision = agree_on_transport(comm, TransportChoice::automatic, device);
  const auto words = all_gather_text(comm, to_string(decision.transport));
  CHECK_ON_ALL_RANKS(std::set(words.begin(), words.end()).size() == 1);
  CHECK_ON_ALL_RANKS(decision.transport != Transport::host);
  const bool warns = decision.transport == Transport::staged && comm.size() > 1;
  CHECK_ON_ALL_RANKS(decision.warning.empty() != (warns && comm.rank() == 0));
}
