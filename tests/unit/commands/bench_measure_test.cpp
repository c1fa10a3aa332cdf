#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "commands/bench/known_sums.hpp"
#include "commands/bench/measure.hpp"
#include "commands/bench/record.hpp"
#include "rueda/core/error.hpp"
#include "tests/support/host_reduce_device.hpp"
#include "wiring/reduce_tables.hpp"

using Catch::Matchers::Contains;
using rueda::layout_of;
using rueda::Wire;
using namespace rueda::bench;

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

class HostBuffer final : public Buffer {
 public:
  explicit HostBuffer(std::size_t floats) : memory_(floats) {}
  std::span<float> floats() override { return memory_; }
  void upload(std::span<float> to, std::span<const float> host) override {
    std::copy(host.begin(), host.end(), to.begin());
  }
  void download(std::span<float> host, std::span<const float> from) override {
    std::copy_n(from.begin(), host.size(), host.begin());
  }

 private:
  std::vector<float> memory_;
};

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

/// Of 1 GB.
Row row_of(const std::string& algorithm, const Seconds& seconds) {
  Row row;
  row.size.bytes = 1'000'000'000;
  row.algorithm = algorithm;
  row.seconds = seconds;
  return row;
}

}  // namespace

TEST_CASE("right sums pass, for any number of ranks and from any index on", "[bench]") {
  for (const auto kind : {KnownSums::Kind::whole, KnownSums::Kind::real}) {
    for (const int ranks : {1, 2, 3, 15, 200, kMostExactRanks}) {
      const KnownSums values(kind, ranks, Wire::fp32);
      const auto sums = summed(values, ranks, 5'000'000'000U, 1500);
      REQUIRE_FALSE(values.first_wrong(5'000'000'000U, sums));
    }
  }
}

TEST_CASE("a sum that lacks a rank, is of another index or no number is found", "[bench]") {
  for (const auto kind : {KnownSums::Kind::whole, KnownSums::Kind::real}) {
    for (const int ranks : {2, 3, 64}) {
      const KnownSums values(kind, ranks, Wire::fp32);
      const auto right = summed(values, ranks, 0, 3000);
      const auto lacking = summed(values, ranks - 1, 0, 3000);
      const auto shifted = summed(values, ranks, 1024, 3000);
      for (const std::size_t i : {0U, 1023U, 1024U, 2999U}) {
        for (const float wrong :
             {lacking[i], shifted[i], std::numeric_limits<float>::quiet_NaN()}) {
          auto sums = right;
          sums[i] = wrong;
          REQUIRE(values.first_wrong(0, sums) == i);
        }
      }
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

TEST_CASE("each contestant sums as often as asked, and once more to warm up", "[bench]") {
  rueda::SoloGroup group;
  rueda::test::HostReduceDevice device;
  HostBuffer buffer(300'000);
  SoloSum one, other;
  const Contestant contestants[] = {{&one, &buffer}, {&other, &buffer}};
  const auto seconds = measure({group, device}, contestants, 300'000, {7, 100});
  REQUIRE(seconds.size() == 2);
  REQUIRE(seconds[0].size() == 7);
  REQUIRE(seconds[1].size() == 7);
  REQUIRE(one.sums == 8);
  REQUIRE(other.sums == 8);
}

TEST_CASE("time that is up ends the repetitions, but for the first three", "[bench]") {
  rueda::SoloGroup group;
  rueda::test::HostReduceDevice device;
  HostBuffer buffer(300'000);
  SoloSum reduce;
  const Contestant contestants[] = {{&reduce, &buffer}};
  REQUIRE(measure({group, device}, contestants, 300'000, {1000, 1e-9})[0].size() == 3);
}

TEST_CASE("a wrong sum ends the measurement", "[bench]") {
  rueda::SoloGroup group;
  rueda::test::HostReduceDevice device;
  HostBuffer buffer(70'000);
  SoloSum wrong(0.25F);
  const Contestant contestants[] = {{&wrong, &buffer}};
  REQUIRE_THROWS_WITH(measure({group, device}, contestants, 70'000, {1, 1}),
                      Contains("solo: wrong sum in element 69999 of 70000"));
}

TEST_CASE("figures of a row", "[bench]") {
  const Row ring = row_of("ring", {0.5, 0.1, 0.3});
  const Row mpi = row_of("mpi", {0.6, 0.6});
  const Figures figures = figures_of(ring, 4, &mpi);
  REQUIRE(figures.median == Approx(0.3));
  REQUIRE(figures.p99 == Approx(0.496));
  REQUIRE(figures.bandwidth->algbw == Approx(1 / 0.3));
  REQUIRE(figures.bandwidth->busbw == Approx(1.5 / 0.3));
  REQUIRE(*figures.times_mpi == Approx(2));
  REQUIRE_FALSE(figures_of(ring, 4, nullptr).times_mpi);
  REQUIRE_FALSE(figures_of(ring, 1, &mpi).bandwidth);
  REQUIRE(mpi_row({ring, mpi}, ring.size)->algorithm == "mpi");
  REQUIRE(mpi_row({ring, mpi}, {4, ""}) == nullptr);
}

TEST_CASE("a layout numbers hosts as ranks name them", "[bench]") {
  REQUIRE(layout_of({"b", "a", "b", "c"}) == std::vector<int>{0, 1, 0, 2});
}
