#include <catch2/catch.hpp>

#include "wiring/reduce_tables.hpp"

namespace rueda::test {
namespace {

constexpr std::size_t kLarge = std::size_t{100} << 20;

}  // namespace

TEST_CASE("the rule goes by hosts, memory, wire and length", "[reduce]") {
  // Hosts, most ranks on a host, memory on the host, may share, wire.
  const struct {
    ReduceSituation here;
    std::size_t bytes;
    Algorithm algorithm;
  } cases[] = {
      {{1, 4, true, true, Wire::fp32}, 4, Algorithm::shared},
      {{1, 4, true, true, Wire::fp32}, kLarge, Algorithm::shared},
      {{1, 4, true, false, Wire::fp32}, kLarge, Algorithm::ring},
      {{1, 4, false, true, Wire::fp32}, kLarge, Algorithm::ring},
      {{1, 4, true, true, Wire::bf16}, 4, Algorithm::ring},
      {{1, 4, true, true, Wire::bf16}, kLarge, Algorithm::ring},
      {{4, 1, true, false, Wire::fp32}, kSmallBytes, Algorithm::doubling},
      {{4, 1, true, false, Wire::fp32}, kSmallBytes + 1, Algorithm::ring},
      {{2, 2, true, false, Wire::fp32}, 4, Algorithm::doubling},
      {{2, 2, true, false, Wire::fp32}, kLarge, Algorithm::hierarchical},
  };
  for (const auto& c : cases) {
    CAPTURE(c.here.hosts, c.here.memory_is_on_host, c.here.may_share, c.bytes);
    CHECK(reduce_rule(c.here).way(c.bytes).algorithm == c.algorithm);
  }
}

TEST_CASE("chunks of host memory are cut inside a host, not between hosts", "[reduce]") {
  CHECK(usual_segment_bytes(true, false) == kHostSegmentBytes);
  CHECK(usual_segment_bytes(true, true) == 0);
  CHECK(usual_segment_bytes(false, false) == kDeviceSegmentBytes);
  CHECK(usual_segment_bytes(false, true) == kDeviceSegmentBytes);
  CHECK(reduce_rule({.hosts = 4, .most_on_a_host = 1}).way(kLarge).segment_bytes == 0);
  CHECK(reduce_rule({.hosts = 2, .most_on_a_host = 2}).way(kLarge).segment_bytes == 0);
  CHECK(reduce_rule({.hosts = 1, .most_on_a_host = 2}).way(kLarge).segment_bytes ==
        kHostSegmentBytes);
}

}  // namespace rueda::test
