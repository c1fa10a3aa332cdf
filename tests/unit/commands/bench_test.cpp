#include "commands/bench/bench.hpp"

#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <sstream>
#include <thread>

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "commands/bench/record.hpp"
#include "reduce/reduce_journal.hpp"
#include "run/wiring/open_backend.hpp"
#include "tests/support/common.hpp"
#include "tests/support/host_reduce_device.hpp"
#include "tests/support/thread_group.hpp"

using Catch::Contains;
using namespace rueda;
using namespace rueda::bench;
using test::longest_line;

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
class SoloSum final : public AllReduce {
 public:
  explicit SoloSum(float error = 0) : error_(error) {}
  std::string_view name() const override { return "solo"; }
  Event sum(std::span<float> slice, Event ready, ReduceJournal&) override {
    ++sums;
    slice.back() += error_;
    return ready;
  }
  std::size_t sums = 0;

 private:
  float error_;
};

/// The sum over all ranks, in which one rank stays longer.
class LateSum final : public AllReduce {
 public:
  LateSum(RankGroup& group, int late) : group_(group), late_(late) {}
  std::string_view name() const override { return "late"; }
  Event sum(std::span<float> slice, Event ready, ReduceJournal&) override {
    const auto all = from_bytes<float>(group_.all_gather(std::as_bytes(slice)));
    std::ranges::fill(slice, 0.0F);
    for (const auto& floats : all)
      for (std::size_t i = 0; i < slice.size(); ++i) slice[i] += floats.at(i);
    if (group_.rank() == late_) std::this_thread::sleep_for(kStay);
    return ready;
  }
  static constexpr std::chrono::milliseconds kStay{100};

 private:
  RankGroup& group_;
  int late_;
};

/// A group of one rank that writes down its barriers.
class LoggedGroup final : public test::ThreadGroup {
 public:
  explicit LoggedGroup(std::string& log) : log_(log) {}
  void barrier() override { log_ += '|'; }

 private:
  std::string& log_;
};

/// The sum over one rank, which writes down its name.
class LoggedSum final : public AllReduce {
 public:
  LoggedSum(const char* name, std::string& log) : name_(name), log_(log) {}
  std::string_view name() const override { return name_; }
  Event sum(std::span<float>, Event ready, ReduceJournal&) override {
    log_ += name_;
    return ready;
  }

 private:
  const char* name_;
  std::string& log_;
};

/// One rank with memory of the cpu backend.
struct Bed {
  explicit Bed(std::size_t floats) : memory(backend->allocate(floats * sizeof(float))) {}
  std::vector<Seconds> measure(std::span<SoloSum* const> sums, const Effort& effort) {
    std::vector<Candidate> candidates;
    for (SoloSum* sum : sums) candidates.push_back({sum, memory.floats()});
    return bench::measure({group, *backend}, candidates, memory.floats().size(), effort);
  }

  test::ThreadGroup group;
  std::unique_ptr<Backend> backend = open_backend({.choice = BackendChoice::cpu});
  Memory memory;
};

}  // namespace

TEST_CASE("every schedule leaves the sum of all on every rank and adds no value twice",
          "[explain]") {
  const auto algorithm =
      GENERATE(Algorithm::ring, Algorithm::doubling, Algorithm::halving, Algorithm::central);
  const int ranks = GENERATE(range(2, kMostExplainedRanks + 1));
  const Schedule schedule = schedule_of(algorithm, ranks, 1000);
  Holdings holdings = first_holdings(schedule);
  for (const Step& step : schedule.steps) {
    for (const Message& m : step.messages) {
      for (std::size_t chunk = m.chunks.begin; m.adds && chunk < m.chunks.end; ++chunk) {
        const unsigned sent = holdings[std::size_t(m.from)][chunk];
        REQUIRE((sent & holdings[std::size_t(m.to)][chunk]) == 0);
      }
    }
    holdings = holdings_after(step, holdings);
  }
  for (const auto& rank : holdings)
    for (const unsigned held : rank) REQUIRE(std::popcount(held) == ranks);
}

TEST_CASE("a schedule has the steps and the bytes of its algorithm", "[explain]") {
  for (const std::size_t length : {0U, 1U, 3U, 4U, 5U, 1000U, 1001U}) {
    std::size_t floats = 0;
    const Schedule ring = schedule_of(Algorithm::ring, 4, length);
    REQUIRE(ring.steps.size() == 6);
    for (const Traffic& sent : sent_by_rank(ring)) floats += sent.floats;
    REQUIRE(floats == 2 * 3 * length);
  }
  REQUIRE(sent_by_rank(schedule_of(Algorithm::ring, 4, 1))[0].messages == 2);  // others are empty
  REQUIRE(schedule_of(Algorithm::doubling, 8, 10).steps.size() == 3);
  const Schedule halving = schedule_of(Algorithm::halving, 8, 800);
  REQUIRE(halving.steps.size() == 6);
  for (const Traffic& sent : sent_by_rank(halving)) {
    REQUIRE(sent.messages == 6);
    REQUIRE(sent.floats == 2 * 7 * 100);  // as few as the ring's
  }
  REQUIRE(schedule_of(Algorithm::halving, 6, 800).steps.size() == 2 + 2 * 2);
  const Schedule central = schedule_of(Algorithm::central, 5, 10);
  REQUIRE(central.steps.size() == 8);
  REQUIRE(sent_by_rank(central)[0].floats == 40);
  REQUIRE(sent_by_rank(central)[3].floats == 10);
}

TEST_CASE("the text names senders, chunks, holdings and totals", "[explain]") {
  const std::string text = explain({4, 1000, Algorithm::ring});
  for (const char* part : {
           "4 ranks sum 1,000 floats (4,000 bytes) in 4 chunks of 250 floats",
           "reduce-scatter, step 0: 0->1 chunk 0, 1->2 chunk 1, 2->3 chunk 2",
           "all-gather, step 2: 0->1 chunk 3, 1->2 chunk 0",
           "rank 0   0     0    >2-0   3-0\n",  // as docs/pictures/ring.svg after step 1
           "rank 0   *   *   *   *\n",
           "A rank sends 6 messages, 6,000 bytes.",
           "All ranks together: 24 messages, 24,000 bytes.",
       }) {
    CHECK_THAT(text, Contains(part));
  }
  CHECK_THAT(explain({4, 1000, Algorithm::doubling}),
             Contains("0->1, 1->0, 2->3, 3->2; what comes in is added"));
  const std::string halving = explain({4, 1000, Algorithm::halving});
  CHECK_THAT(halving,
             Contains("reduce-scatter, step 0: 0->1 chunks 2-3, 1->0 chunks 0-1, 2->3 chunks 2-3"));
  CHECK_THAT(halving, Contains("all-gather, step 2: 0->2 chunk 0, 1->3 chunk 2"));
  CHECK_THAT(explain({3, 1000, Algorithm::halving}), Contains("fold, step 0: 1->0 chunks 0-1"));
  CHECK_THAT(explain({1, 5, Algorithm::ring}), Contains("no other rank to send to"));
  CHECK_THAT(explain({3, 0, Algorithm::ring}), Contains("nothing, the chunks are empty"));
}

TEST_CASE("the text fits a wide terminal up to the most ranks", "[explain]") {
  CHECK(longest_line(explain({8, 1000, Algorithm::ring})) <= 80);
  CHECK(longest_line(explain({kMostExplainedRanks, 1000, Algorithm::ring})) <= 130);
}

TEST_CASE("sizes are bytes with units, ascending, each once, or those of a named network",
          "[bench]") {
  REQUIRE(parse_sizes("1M,4,64k,16Ki,2G,1Mi,4,1Gi") == std::vector<Size>{{4, ""},
                                                                         {16'384, ""},
                                                                         {64'000, ""},
                                                                         {1'000'000, ""},
                                                                         {1'048'576, ""},
                                                                         {1'073'741'824, ""},
                                                                         {2'000'000'000, ""}});
  // ResNet-18: 11,173,962 parameters, 9,600 statistics, 7 step sums; counted elsewhere.
  REQUIRE(parse_sizes("resnet18") == std::vector<Size>{{(11'173'962 + 9'600 + 7) * 4, "resnet18"}});
  REQUIRE(parse_sizes("resnet18", 100)[0].bytes == (11'220'132 + 9'600 + 7) * 4);
}

TEST_CASE("what is no size is refused by its name", "[bench]") {
  for (const std::string words : {"", "4,", ",4", "k", "4e6", "-4", "4 ", "4kb", "4K", "resnet19",
                                  "99999999999999999999", "2000G", "0x4"}) {
    INFO(words);
    REQUIRE_THROWS_WITH(parse_sizes(words), Contains("give a number of bytes"));
  }
  for (const std::string words : {"0", "3", "4,7"})
    REQUIRE_THROWS_WITH(parse_sizes(words), Contains("a multiple of 4 bytes"));
}

TEST_CASE("algorithms are named as train names them, and the fixed order", "[bench]") {
  const auto some = parse_entries("mpi,ring,fixed,mpi");
  REQUIRE(some.size() == 3);  // each once
  REQUIRE(some[0].algorithm == Algorithm::mpi);
  REQUIRE(some[1].name == "ring");
  REQUIRE(some[1].order == ReduceOrder::ring);
  REQUIRE(some[2].name == "fixed");
  REQUIRE(some[2].algorithm == Algorithm::ring);
  REQUIRE(some[2].order == ReduceOrder::fixed);
  const auto every = parse_entries("all");
  REQUIRE(every.size() == std::size(kAlgorithms) + 1);
  REQUIRE_THROWS_WITH(parse_entries("ring,rong"), Contains("'rong'") && Contains("hierarchical"));
}

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

TEST_CASE("whole numbers have to be exact, real ones within a bound that grows with the ranks",
          "[bench]") {
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
  REQUIRE(KnownSums::error_bound(1, Wire::fp32) == 0);
  REQUIRE(KnownSums::error_bound(5, Wire::fp32) == Approx(4 * 0x1p-24).epsilon(1e-6));
  REQUIRE(KnownSums::error_bound(2, Wire::bf16) == Approx(3 * 0x1p-8).epsilon(0.01));
}

TEST_CASE("each candidate sums as often as asked, and once more to warm up", "[bench][cpu]") {
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

TEST_CASE("a time is that of the slowest rank, whichever it is", "[bench][cpu]") {
  for (const int late : {0, 1}) {
    std::vector<double> least(2);
    test::ThreadGroup::run(2, [&](test::ThreadGroup& group) {
      const auto backend = open_backend({.choice = BackendChoice::cpu});
      Memory memory = backend->allocate(16 * sizeof(float));
      LateSum sum(group, late);
      const Candidate candidates[] = {{&sum, memory.floats()}};
      const auto seconds = bench::measure({group, *backend}, candidates, 16, {2, 100});
      least[std::size_t(group.rank())] = std::ranges::min(seconds.at(0));
    });
    // The late rank slept as long, and all know its time.
    CHECK(least[0] >= std::chrono::duration<double>(LateSum::kStay).count());
    CHECK(least[1] == least[0]);
  }
}

TEST_CASE("each candidate sums after each other one, and a barrier stands around each sum",
          "[bench][cpu]") {
  std::string log;
  LoggedGroup group(log);
  LoggedSum a("a", log), b("b", log), c("c", log);
  const auto backend = open_backend({.choice = BackendChoice::cpu});
  Memory memory = backend->allocate(16 * sizeof(float));
  const Candidate candidates[] = {
      {&a, memory.floats()}, {&b, memory.floats()}, {&c, memory.floats()}};
  bench::measure({group, *backend}, candidates, 16, {20, 100});
  for (const char* pair : {"|a||b|", "|a||c|", "|b||a|", "|b||c|", "|c||a|", "|c||b|"})
    CHECK_THAT(log, Contains(pair));
}

TEST_CASE("a wrong sum ends the measurement", "[bench][cpu]") {
  SoloSum wrong(0.25F);
  SoloSum* const sums[] = {&wrong};
  REQUIRE_THROWS_WITH(Bed(70'000).measure(sums, {1, 1}),
                      Contains("solo: wrong sum in element 69999 of 70000"));
}

TEST_CASE("figures of a row, and a layout that numbers hosts", "[bench]") {
  const Row ring{{1'000'000'000}, {0.5, 0.1, 0.3}, "ring"};
  const Row mpi{{1'000'000'000}, {0.6, 0.6}, "mpi"};
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
  REQUIRE(layout_of({"b", "a", "b", "c"}) == std::vector<int>{0, 1, 0, 2});
}
