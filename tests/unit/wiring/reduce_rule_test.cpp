#include <catch2/catch.hpp>

#include "wiring/reduce_tables.hpp"

namespace rueda::test {
namespace {

constexpr std::size_t kLarge = std::size_t{100} << 20;

Algorithm chosen(const ReduceSituation& situation, std::size_t bytes) {
  return reduce_rule(situation).way(bytes).algorithm;
}

}  // namespace

TEST_CASE("one host with host memory takes the shared window", "[reduce]") {
  const ReduceSituation here{.hosts = 1, .most_on_a_host = 4, .may_share = true};
  CHECK(chosen(here, 4) == Algorithm::shared);
  CHECK(chosen(here, kLarge) == Algorithm::shared);
  ReduceSituation without = here;
  without.may_share = false;
  CHECK(chosen(without, kLarge) == Algorithm::ring);
  ReduceSituation gpu = here;
  gpu.memory_is_on_host = false;
  CHECK(chosen(gpu, kLarge) == Algorithm::ring);
  ReduceSituation narrow = here;
  narrow.wire = Wire::bf16;
  CHECK(chosen(narrow, 4) == Algorithm::ring);
  CHECK(chosen(narrow, kLarge) == Algorithm::ring);
}

TEST_CASE("several hosts take doubling, then what fits their ranks", "[reduce]") {
  const ReduceSituation single{.hosts = 4, .most_on_a_host = 1};
  CHECK(chosen(single, kSmallBytes) == Algorithm::doubling);
  CHECK(chosen(single, kSmallBytes + 1) == Algorithm::ring);
  const ReduceSituation several{.hosts = 2, .most_on_a_host = 2};
  CHECK(chosen(several, 4) == Algorithm::doubling);
  CHECK(chosen(several, kLarge) == Algorithm::hierarchical);
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
