#include "src/commands/reduce_rule.hpp"

#include <catch2/catch.hpp>

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
  CHECK(reduce_rule(gpu).way(kLarge).segment_bytes == kDeviceSegmentBytes);
  ReduceSituation narrow = here;
  narrow.wire = Wire::bf16;
  CHECK(chosen(narrow, 4) == Algorithm::ring);
  CHECK(chosen(narrow, kLarge) == Algorithm::ring);
}

TEST_CASE("several hosts take doubling, then what fits their ranks", "[reduce]") {
  const ReduceSituation single{.hosts = 4, .most_on_a_host = 1};
  CHECK(chosen(single, kSmallBytes) == Algorithm::doubling);
  CHECK(chosen(single, kSmallBytes + 1) == Algorithm::ring);
  CHECK(reduce_rule(single).way(kLarge).segment_bytes == kHostSegmentBytes);
  const ReduceSituation several{.hosts = 2, .most_on_a_host = 2};
  CHECK(chosen(several, 4) == Algorithm::doubling);
  CHECK(chosen(several, kLarge) == Algorithm::hierarchical);
}

}  // namespace rueda::test
