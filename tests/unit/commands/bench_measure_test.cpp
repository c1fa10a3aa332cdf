#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "commands/bench/measure.hpp"
#include "commands/bench/record.hpp"
#include "rueda/core/error.hpp"
#include "tests/support/host_reduce_device.hpp"
#include "tests/support/thread_group.hpp"
#include "wiring/open_backend.hpp"
#include "wiring/reduce_tables.hpp"

using Catch::Matchers::Contains;
using rueda::layout_of;
using rueda::Wire;
using namespace rueda::bench;
namespace bench = rueda::bench;

namespace {

/// The sums of what `ranks` ranks bring, added in fp32 in the order of the ranks.
std::vector<float> summed(const KnownSums& values, int ranks, std::size_t first,
                          std::size_t count) {
  std::vector<float> sums(count);
  std::vector<float> part(count);
  for (int rank = 0; rank < ranks; ++rank) {
    values.fill(rank, first, part);
    for (std::size_t i = 0; i < count; ++i) sums[i] += part[i];
  }
  return sums;
}

/// The sum over one rank, which may go wrong.
class SoloSum final : public rueda::AllReduce {
 public:
  explicit SoloSum(float error = 0) : error_(error) {}
  std::string_view name() const override { return "solo"; }
  rueda::Event sum(std::span<float> slice, rueda::Event ready) override {
    ++sums;
    slice.back() += error_;
    return ready;
  }
  std::size_t scratch_floats(std::size_t) const override { return 0; }
  std::size_t sums = 0;

 private:
  float error_;
};

/// One rank with memory of the cpu backend.
struct Bed {
  explicit Bed(std::size_t floats) : memory(backend->allocate(floats * sizeof(float))) {}
  std::vector<Seconds> measure(std::span<SoloSum* const> sums, const Effort& effort) {
    std::vector<Candidate> candidates;
    for (SoloSum* sum : sums) candidates.push_back({sum, memory->floats()});
    return bench::measure({group, *backend}, candidates, memory->floats().size(), effort);
  }

  rueda::test::ThreadGroup group;
  std::unique_ptr<rueda::Backend> backend =
      rueda::open_backend({.choice = rueda::BackendChoice::cpu});
  std::unique_ptr<rueda::Memory> memory;
};

}  // namespace

TEST_CASE("right sums pass, for any number of ranks and from any index on", "[bench]") {
  const auto kind = GENERATE(KnownSums::Kind::whole, KnownSums::Kind::real);
  for (const int ranks : {1, 2, 3, 15, 200, kMostExactRanks}) {
    const KnownSums values(kind, ranks, Wire::fp32);
    const auto sums = summed(values, ranks, 5'000'000'000U, 1500);
    REQUIRE_FALSE(values.first_wrong(5'000'000'000U, sums));
  }
}

TEST_CASE("a sum that lacks a rank, is of another index or no number is found", "[bench]") {
  const auto kind = GENERATE(KnownSums::Kind::whole, KnownSums::Kind::real);
  const int ranks = GENERATE(2, 3, 64);
  const KnownSums values(kind, ranks, Wire::fp32);
  const auto right = summed(values, ranks, 0, 3000);
  const auto lacking = summed(values, ranks - 1, 0, 3000);
  const auto shifted = summed(values, ranks, 1024, 3000);
  for (const std::size_t i : {0U, 1023U, 1024U, 2999U}) {
    for (const float wrong : {lacking[i], shifted[i], std::numeric_limits<float>::quiet_NaN()}) {
      auto sums = right;
      sums[i] = wrong;
      REQUIRE(values.first_wrong(0, sums) == i);
    }
  }
}

TEST_CASE("whole numbers have to be exact, real ones within the bound", "[bench]") {
  const KnownSums whole(KnownSums::Kind::whole, 3, Wire::fp32);
  auto sums = summed(whole, 3, 0, 4);
  sums[2] = std::nextafter(sums[2], 1e9F);
  REQUIRE(whole.first_wrong(0, sums) == 2U);
  // Sums rounded as a bf16 wire would, which an fp32 wire must not.
  const KnownSums coarse(KnownSums::Kind::real, 3, Wire::bf16);
  auto rounded = summed(coarse, 3, 0, 100);
  for (float& x : rounded) x *= 1 + 0x1p-9F;
  REQUIRE_FALSE(coarse.first_wrong(0, rounded));
  REQUIRE(KnownSums(KnownSums::Kind::real, 3, Wire::fp32).first_wrong(0, rounded));
}

TEST_CASE("the error bound grows with the ranks", "[bench]") {
  REQUIRE(KnownSums::error_bound(1, Wire::fp32) == 0);
  REQUIRE(KnownSums::error_bound(5, Wire::fp32) == Approx(4 * 0x1p-24).epsilon(1e-6));
  REQUIRE(KnownSums::error_bound(2, Wire::bf16) == Approx(3 * 0x1p-8).epsilon(0.01));
}

TEST_CASE("each candidate sums as often as asked, and once more to warm up", "[bench]") {
  SoloSum one, other;
  SoloSum* const sums[] = {&one, &other};
  const auto seconds = Bed(300'000).measure(sums, {7, 100});
  REQUIRE(seconds.size() == 2);
  CHECK(seconds[0].size() == 7);
  CHECK(seconds[1].size() == 7);
  CHECK(one.sums == 8);
  CHECK(other.sums == 8);
  // When the time is up, the first three repetitions are done all the same.
  CHECK(Bed(300'000).measure(sums, {1000, 1e-9})[0].size() == 3);
}

TEST_CASE("a wrong sum ends the measurement", "[bench]") {
  SoloSum wrong(0.25F);
  SoloSum* const sums[] = {&wrong};
  REQUIRE_THROWS_WITH(Bed(70'000).measure(sums, {1, 1}),
                      Contains("solo: wrong sum in element 69999 of 70000"));
}

TEST_CASE("figures of a row", "[bench]") {
  const Row ring{{1'000'000'000, ""}, "ring", {0.5, 0.1, 0.3}};
  const Row mpi{{1'000'000'000, ""}, "mpi", {0.6, 0.6}};
  const Figures figures = figures_of(ring, 4, &mpi);
  REQUIRE(figures.median == Approx(0.3));
  REQUIRE(figures.p99 == Approx(0.496));
  REQUIRE(*figures.algbw == Approx(1 / 0.3));
  REQUIRE(*figures.busbw == Approx(1.5 / 0.3));
  REQUIRE(*figures.times_mpi == Approx(2));
  REQUIRE_FALSE(figures_of(ring, 4, nullptr).times_mpi);
  REQUIRE_FALSE(figures_of(ring, 1, &mpi).algbw);
  REQUIRE(mpi_row({ring, mpi}, ring.size)->algorithm == "mpi");
  REQUIRE(mpi_row({ring, mpi}, {4, ""}) == nullptr);
}

TEST_CASE("a layout numbers hosts as ranks name them", "[bench]") {
  REQUIRE(layout_of({"b", "a", "b", "c"}) == std::vector<int>{0, 1, 0, 2});
}
