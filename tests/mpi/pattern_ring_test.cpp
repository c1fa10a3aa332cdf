#include <catch2/catch.hpp>

#include "mpi/probes/link_probe.hpp"
#include "tests/support/mpi_check.hpp"

using rueda::Communicator;
using rueda::HostExchangeBuffer;

namespace {

/// Loses one element of every message beyond `at`.
class LossyBuffer final : public rueda::ExchangeBuffer {
 public:
  LossyBuffer(std::size_t floats, std::size_t at) : inner_(floats), at_(at) {}
  std::span<float> send_side() override { return inner_.send_side(); }
  std::span<float> receive_side() override { return inner_.receive_side(); }
  void upload(std::span<float> to, std::span<const float> host) override {
    inner_.upload(to, host);
  }
  void download(std::span<float> host, std::span<const float> from) override {
    inner_.download(host, from);
    host[at_] = host[at_ - 1];
  }

 private:
  HostExchangeBuffer inner_;
  std::size_t at_;
};

}  // namespace

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
