#include "base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <catch2/catch.hpp>

#include "base/random.hpp"
#include "record/aggregation.hpp"
#include "record/run_pace.hpp"
#include "record/run_status.hpp"
#include "tests/support/sample_run.hpp"

using namespace rueda;

namespace {

constexpr auto kReduce = std::size_t(Phase::all_reduce);

/// A step whose phases are 1/8, 2/8 ... of nothing in particular: exact in binary.
StepRecord step_of(std::uint32_t global_samples, double unit) {
  StepRecord s;
  s.samples = global_samples / 2;
  s.global_samples = global_samples;
  for (std::size_t p = 0; p < kPhases; ++p) s.phases[p] = unit * double(p + 1);
  s.seconds = unit * 36;
  s.all_reduce_busy = unit * 7;
  s.all_reduce_add = unit * 2;
  return s;
}

/// Rank 0 takes 1, 2 and (partial) 8 units, rank 1 takes 3, 1 and 4.
EpochRecord two_ranks() {
  EpochRecord e;
  e.steps = 3;
  e.step_records = {{step_of(128, 1), step_of(128, 2), step_of(40, 8)},
                    {step_of(128, 3), step_of(128, 1), step_of(40, 4)}};
  return e;
}

/// Times; times of which many are equal; of both signs and zero; of every size.
double made_value(int kind, std::size_t i) {
  const std::uint64_t bits = random_bits(7, i);
  const double time = 0.1 + 0.01 * double(bits % 1'000'003) / 1'000'003;
  if (kind == 0) return time;
  if (kind == 1) return bits % 3 == 0 ? 0.0 : 0.25 * double(bits % 4);
  if (kind == 2) return time - 0.105;
  const double value = std::ldexp(time, int(bits >> 40) % 1000 - 1070);
  return (bits & 1) != 0 ? value : -value;
}

/// Before the sum, waiting for it, and after it.
StepRecord step(double before, double waited, double after) {
  StepRecord s;
  s.seconds = before + waited + after;
  s.phases = {before / 2, 0, before / 8, before / 8, before / 4, waited, after / 4, after * 3 / 4};
  return s;
}

/// Load balance, serialisation, transfer, and the products of the last two and of all.
std::vector<double> factors_of(const ByRank<StepRecord>& steps, double seconds) {
  EpochRecord epoch;
  epoch.step_records = steps;
  epoch.seconds = seconds;
  const EfficiencySeconds e = efficiency_seconds(epoch);
  epoch.resumed_at_step = 1;  // the record of a step is missing
  CHECK(std::isnan(efficiency_seconds(epoch).parallel()));
  return {e.load_balance(), e.serialisation(), e.transfer(), e.communication(), e.parallel()};
}

}  // namespace

TEST_CASE("statistics: the spread of values, and bandwidth by its definitions", "[statistics]") {
  const auto numbers = [](const Spread& s) {
    return std::vector{s.min, s.mean, s.median, s.p90, s.max, s.deviation};
  };
  const Spread five = spread_of(std::vector<double>{4, 1, 3, 2, 10});
  CHECK(five.count == 5);
  CHECK_THAT(numbers(five),
             Catch::Matchers::Approx(std::vector<double>{1, 4, 3, 7.6, 10, std::sqrt(10.0)}));
  CHECK(numbers(spread_of(std::vector<double>{7})) == std::vector<double>{7, 7, 7, 7, 7, 0});
  CHECK(spread_of({}).count == 0);
  for (const double none : numbers(spread_of({}))) CHECK(std::isnan(none));
  CHECK(median_of({4, 1, 2, 3}) == 2.5);
  CHECK(quantile({4, 1, 2, 3}, 0) == 1);
  CHECK(quantile({4, 1, 2, 3}, 1) == 4);
  const auto four = bandwidth(4e9, 2, 4);
  REQUIRE(four);
  CHECK(four->algbw == 2);
  CHECK(four->busbw == 3);
  CHECK_FALSE(bandwidth(4e9, 2, 1));
  CHECK_FALSE(bandwidth(4e9, 0, 4));
}

TEST_CASE("statistics: many values have the spread and the quantiles of their order",
          "[statistics]") {
  const int kind = GENERATE(range(0, 4));
  const std::size_t count = GENERATE(2047, 2048, 5001);  // on both sides of the change of sorts
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(made_value(kind, i));
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  CAPTURE(kind, count);
  const Spread spread = spread_of(values);
  CHECK(spread.min == sorted.front());
  CHECK(spread.mean == sum_of(sorted) / double(count));  // in this order, to the last bit
  CHECK(spread.median == (sorted[(count - 1) / 2] + sorted[count / 2]) / 2);
  CHECK(spread.max == sorted.back());
  for (const double q : {0.0, 0.1, 0.5, 0.9}) {
    const double position = q * double(count - 1);
    const auto below = std::size_t(position);
    const double share = position - double(below);
    CHECK(quantile(values, q) == sorted[below] + share * (sorted[below + 1] - sorted[below]));
  }
  CHECK(quantile(values, 1) == sorted.back());
}

TEST_CASE("aggregation: full and partial steps apart", "[statistics]") {
  const EpochRecord e = two_ranks();
  const StepBreakdown full = break_down({&e, 1}, 128, StepKind::full);
  CHECK(full.steps == 2);
  CHECK(full.step.min == 36 * 1.5);
  CHECK(full.step.mean == 36 * 1.75);
  CHECK(full.step.max == 36 * 2);
  CHECK(full.phases[kReduce].max == 6 * 2);
  CHECK(full.busy.mean == 7 * 1.75);
  CHECK(full.add.min == 2 * 1.5);
  CHECK(full.slowest.count == 2);  // a step takes as long as its slowest rank
  CHECK(full.slowest.min == 36 * 2);
  CHECK(full.slowest.max == 36 * 3);
  CHECK(full.slowest_busy == 7 * 2.5);
  const StepBreakdown partial = break_down({&e, 1}, 128, StepKind::partial);
  CHECK(partial.steps == 1);
  CHECK(partial.step.mean == 36 * 6);
  CHECK(break_down({&e, 1}, 128, StepKind::all).steps == 3);
  CHECK(break_down({&e, 1}, 64, StepKind::full).steps == 0);
}

TEST_CASE("aggregation: phases add up to the step", "[statistics]") {
  const RunRecord run = test::sample_run(4, 2);
  for (const StepKind kind : {StepKind::full, StepKind::partial, StepKind::all}) {
    const StepBreakdown b = break_down(run.epochs, run.global_batch, kind);
    double sum = 0;
    for (const Spread& phase : b.phases) sum += phase.mean;
    CHECK(sum == Approx(b.step.mean).epsilon(1e-12));
  }
}

TEST_CASE("aggregation: steady state leaves the first epoch out", "[statistics]") {
  RunRecord run = test::sample_run();
  SteadyState steady = steady_state(run);
  CHECK(steady.epochs.size() == 2);
  CHECK_FALSE(steady.includes_warm_up);
  CHECK(steady.epoch_seconds == Approx(0.85));
  CHECK(steady.images_per_second == Approx(296 / 0.85));
  run.epochs.resize(1);
  steady = steady_state(run);
  CHECK(steady.includes_warm_up);
  CHECK(steady.epoch_seconds == 1.1);
  run.epochs.clear();
  steady = steady_state(run);
  CHECK_FALSE(steady.includes_warm_up);
  CHECK(std::isnan(steady.epoch_seconds));
}

TEST_CASE("aggregation: a process that resumes a run warms up anew", "[statistics]") {
  RunRecord run = test::sample_run();
  for (std::size_t e = 4; e <= 6; ++e) run.epochs.push_back(test::sample_epoch(e, 2));
  const auto first_and_count = [&run] {
    const SteadyState steady = steady_state(run);
    return std::pair(steady.epochs.front().epoch, steady.epochs.size());
  };
  run.epochs[3].resumed_at_step = 0;
  CHECK(first_and_count() == std::pair<std::size_t, std::size_t>(5, 2));
  run.epochs[5].resumed_at_step = 2;  // the epochs of the process before stand for it
  CHECK(first_and_count() == std::pair<std::size_t, std::size_t>(5, 1));
  run.epochs[4].resumed_at_step = 1;
  CHECK(first_and_count() == std::pair<std::size_t, std::size_t>(2, 2));
  CHECK_FALSE(steady_state(run).includes_warm_up);
  run.epochs[5].ranks = 4;  // elsewhere: no measure for it
  CHECK(first_and_count() == std::pair<std::size_t, std::size_t>(6, 1));
  CHECK(steady_state(run).includes_warm_up);
}

namespace {

/// An epoch of one rank whose steps got these shares of two cores, 1 s each.
EpochRecord epoch_of_shares(const std::vector<double>& shares) {
  EpochRecord epoch;
  epoch.epoch = 2;
  epoch.step_records.resize(1);
  for (const double share : shares) {
    epoch.step_records[0].push_back({.seconds = 1});
    epoch.step_records[0].back().cores = {2 * share, 2};
  }
  return epoch;
}

}  // namespace

TEST_CASE("a rank is disturbed where it gets less than 85 % of its cores in three steps in a row",
          "[statistics]") {
  const auto steps = [](const std::vector<double>& shares) {
    const auto found = disturbance_in(epoch_of_shares(shares));
    return found ? found->steps : 0;
  };
  CHECK(steps({1, 0.86, 0.86, 0.86, 0.86}) == 0);
  CHECK(steps({1, 0.84, 0.84, 0.84, 1}) == 3);
  CHECK(steps({0.84, 0.84, 1, 0.1, 0.1, 1, 0.84, 0.84}) == 0);  // short pauses
  CHECK(steps({0.84, 1, 0.84, 0.84, 0.84, 1, 0.5}) == 5);
  CHECK(steps({NAN, NAN, NAN, NAN}) == 0);  // a GPU computes
  CHECK(steps({}) == 0);
  EpochRecord unknown = epoch_of_shares({0.5, 0.5, 0.5});
  for (StepRecord& step : unknown.step_records[0]) step.cores = {};
  CHECK_FALSE(disturbance_in(unknown));
}

TEST_CASE("the rank that got least of its cores is named, with figures and remedy",
          "[statistics]") {
  EpochRecord epoch = epoch_of_shares({1, 0.8, 0.8, 0.8});
  for (const double share : {0.5, 0.9})
    epoch.step_records.push_back(epoch_of_shares({share, share, share, 1}).step_records[0]);
  std::vector<RankInfo> ranks(3);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    ranks[rank].host = "n" + std::to_string(rank);
    ranks[rank].threads = 2;
    ranks[rank].cores = 2;
  }
  CHECK_THAT(disturbance_text(epoch, ranks),
             Catch::Contains("rank 1 on n1 got 50 % of the time of its 2 cores in 3 of 4 steps of "
                             "epoch 2: ") &&
                 Catch::Contains("--threads"));
  CHECK(disturbance_text(epoch_of_shares({1, 1, 1}), ranks).empty());
  ranks[2].cores = 1.5;  // ranks take cores from each other, and the share shows no other cause
  CHECK(disturbance_text(epoch, ranks).empty());
}

TEST_CASE("efficiency: each loss moves the factor that is its own", "[statistics]") {
  const auto are = [](std::vector<double> factors) { return Catch::Matchers::Approx(factors); };
  CHECK_THAT(factors_of({{step(4, 0, 1)}, {step(4, 0, 1)}}, 5), are({1, 1, 1, 1, 1}));
  // A slow rank, then slow ranks in turn.
  CHECK_THAT(factors_of({{step(3, 1, 1), step(3, 1, 1)}, {step(4, 0, 1), step(4, 0, 1)}}, 10),
             are({0.9, 1, 1, 1, 0.9}));
  CHECK_THAT(factors_of({{step(3, 2, 0), step(5, 0, 0)}, {step(5, 0, 0), step(3, 2, 0)}}, 10),
             are({1, 0.8, 1, 0.8, 0.8}));
  // What follows the first sum delays the second one: 3 + 3 + 1 + 3.
  CHECK_THAT(factors_of({{step(1, 2, 3), step(1, 0, 3)}, {step(3, 0, 1), step(3, 0, 1)}}, 10),
             are({1, 0.8, 1, 0.8, 0.8}));
  // Messages, and all three.
  CHECK_THAT(factors_of({{step(2, 1, 2), step(3, 1, 1)}, {step(2, 1, 2), step(3, 1, 1)}}, 10),
             are({1, 1, 0.8, 0.8, 0.8}));
  CHECK_THAT(factors_of({{step(3, 3, 0), step(4, 1, 0)}, {step(5, 1, 0), step(3, 2, 0)}}, 12),
             are({7.5 / 8, 8.0 / 9, 9.0 / 12, 8.0 / 12, 7.5 / 12}));
}

TEST_CASE("aggregation: start-up by item, in the order of the run", "[statistics]") {
  RunRecord run = test::sample_run();
  run.ranks[0].startup.emplace_back("graph", 3.0);  // the last rank is not the slowest
  const auto items = startup_items(run.ranks);
  REQUIRE(items.size() == 4);
  CHECK(items[0].first == "mpi");
  CHECK(items[0].second.mean == Approx(0.255));
  CHECK(items[3].first == "graph");
  CHECK(items[3].second.count == 1);
  CHECK(startup_seconds(run.ranks) == Approx(0.25 + 0.5 + 0.125 + 3.0));
}

TEST_CASE("slow rank: more than 10 % above the others' median, three steps in a row", "[slow]") {
  SlowRank slow;
  const auto steps = [&](int count, std::vector<double> useful) {
    for (int i = 0; i < count; ++i) slow.add(useful, std::vector<std::size_t>(useful.size(), 16));
    return slow.now();
  };
  CHECK_FALSE(steps(5, {1, 1.09, 1, 1}));
  CHECK_FALSE(steps(2, {1, 1, 1.2, 1}));
  const auto found = steps(1, {1, 1, 1.5, 1});
  REQUIRE(found);
  CHECK(found->slot == 2);
  CHECK(found->steps == 3);
  CHECK(found->excess == Approx(0.3));  // the mean
  CHECK_FALSE(steps(1, {2, 1, 1, 1}));  // another one
  CHECK_FALSE(steps(1, {1, 1, 1, 1}));
  CHECK(slow.take_longest()->slot == 2);
  CHECK_FALSE(slow.take_longest());
  CHECK(steps(3, {1, 1.2})->slot == 1);
  CHECK_FALSE(SlowRank().now());
  slow = {};
  CHECK_FALSE(steps(9, {1}));
}

TEST_CASE("slow rank: one that has more images is not slow for that", "[slow]") {
  const auto excess = [](const std::vector<double>& useful,
                         const std::vector<std::size_t>& images) {
    SlowRank slow;
    for (int i = 0; i < 3; ++i) slow.add(useful, images);
    return slow.now() ? slow.now()->excess : 0;
  };
  CHECK(excess({2.04, 1, 1}, {2, 1, 1}) == 0);
  CHECK(excess({2.4, 1, 1}, {2, 1, 1}) == Approx(0.2));
  CHECK(excess({1.5, 1, 1}, {1, 1, 1}) == Approx(0.5));
  CHECK(excess({1.05, 1, 1}, {1, 2, 2}) == 0);  // the others do not wait for it
  CHECK(excess({1.5, 1}, {0, 1}) == Approx(0.5));
}

TEST_CASE("late rank: by its own steps, with the phase that is longest", "[statistics]") {
  RunRecord run = test::sample_run(3, 1);
  const auto latest = [&] { return break_down(run.epochs, 128, StepKind::full).latest; };
  for (EpochRecord& epoch : run.epochs) {
    for (std::size_t rank = 0; rank < 3; ++rank) {
      for (StepRecord& step : epoch.step_records[rank]) {
        step.phases = {};
        step.phases[std::size_t(Phase::load)] = rank == 1 ? 0.02 : 0.01;
        step.phases[std::size_t(Phase::backward)] = rank == 1 ? 0.15 : 0.1;
        step.phases[std::size_t(Phase::all_reduce)] = rank == 1 ? 0.01 : 0.5;
        step.seconds = std::accumulate(step.phases.begin(), step.phases.end(), 0.0);
      }
    }
  }
  CHECK(latest().rank == 1);
  CHECK(latest().useful == Approx(0.06));
  CHECK(latest().phase == std::size_t(Phase::backward));
  CHECK(latest().seconds == Approx(0.05));
}

TEST_CASE("a run's rate is images of an epoch over its time", "[statistics]") {
  RunRecord run = test::sample_run();
  run.epochs[1].seconds = 1;
  run.epochs[1].images_per_second = 296;
  run.epochs[2].seconds = 3;
  run.epochs[2].images_per_second = 296.0 / 3;
  CHECK(steady_state(run).epoch_seconds == 2);
  CHECK(steady_state(run).images_per_second == Approx(148));
}

namespace {

/// Steps of three ranks that take so many seconds in backward.
std::vector<RankTimes> three_ranks(float seconds) {
  std::vector<RankTimes> ranks(3);
  for (RankTimes& rank : ranks) rank.phases[std::size_t(Phase::backward)] = seconds;
  return ranks;
}

/// After ten steps of 0.5 s in an epoch of 40.
RunPace steady_pace(std::size_t eval_every = 0) {
  RunPace pace({.epochs = 5, .steps = 40, .eval_every = eval_every});
  for (std::size_t step = 1; step <= 10; ++step) pace.add(1, step, three_ranks(0.5F));
  return pace;
}

}  // namespace

TEST_CASE("time left is that of the whole run, and a long step does not move it", "[status]") {
  CHECK(std::isnan(RunPace({.epochs = 5, .steps = 40}).left_after(1, 0)));
  RunPace pace = steady_pace(2);  // after epochs 2, 4 and 5
  CHECK(pace.left_after(4, 10) == Approx(0.5 * (30 + 40)));
  pace.add(1, 11, three_ranks(8));
  CHECK(pace.left_after(4, 10) == Approx(0.5 * (30 + 40)));
  pace.add_evaluation(7);
  CHECK(pace.left_after(1, 10) == Approx(0.5 * (30 + 160) + 3 * 7));
  CHECK(pace.left_after(3, 0) == Approx(0.5 * 120 + 2 * 7));
  CHECK(pace.left_after(5, 0) == Approx(0.5 * 40 + 7));
  CHECK(pace.left_after(5, 40) == Approx(7));
  CHECK(pace.left_in_evaluation(4, 50, 200, 2) == Approx(6 + 0.5 * 40 + 7));
  CHECK(pace.left_in_evaluation(5, 50, 200, 2) == Approx(6));
}

TEST_CASE("a gap is longer than five usual steps and than a second", "[status]") {
  CHECK(gap_limit(0.5) == Approx(2.5));
  CHECK(gap_limit(0.01) == 1);
  CHECK(gap_limit(20) == 100);
  RunPace pace = steady_pace();
  pace.add(1, 11, three_ranks(2.4F));
  CHECK_FALSE(pace.longest_gap());
  pace.add(1, 12, three_ranks(2.6F));
  REQUIRE(pace.take_gap());
  CHECK_FALSE(pace.take_gap());  // once
  pace.add(1, 13, three_ranks(2.55F));
  CHECK(pace.longest_gap()->step == 12);
  RunPace first({.epochs = 5, .steps = 40});
  first.add(1, 1, three_ranks(60));  // nothing is usual yet
  CHECK_FALSE(first.longest_gap());
}

TEST_CASE("a gap names the rank that kept the others waiting, if one did", "[status]") {
  std::vector<RankInfo> infos(3);
  infos[1].host = "b";
  std::vector<RankTimes> ranks = three_ranks(0.5F);
  SECTION("a rank") {
    RunPace pace = steady_pace();
    for (RankTimes& rank : ranks) rank.phases[std::size_t(Phase::all_reduce)] = 8;
    ranks[1].phases[std::size_t(Phase::all_reduce)] = 0;
    ranks[1].phases[std::size_t(Phase::forward)] = 8;
    pace.add(2, 33, ranks);
    REQUIRE(pace.longest_gap());
    CHECK(gap_text(*pace.longest_gap(), infos) ==
          "step 33 of epoch 2 took 8.5 s, 17 times the usual 0.5 s: rank 1 on b, in forward");
  }
  SECTION("none") {
    RunPace pace = steady_pace();
    for (RankTimes& rank : ranks) rank.phases[std::size_t(Phase::all_reduce)] = 8;
    pace.add(2, 33, ranks);
    REQUIRE(pace.longest_gap());
    CHECK_FALSE(pace.longest_gap()->rank);
    CHECK_THAT(gap_text(*pace.longest_gap(), infos),
               Catch::EndsWith("in the all-reduce; ranks are compared after the epoch"));
    EpochRecord released;
    released.epoch = 2;
    pace.compare_messages(released);
    CHECK_THAT(gap_text(*pace.longest_gap(), infos),
               Catch::EndsWith("in the all-reduce, of no rank in particular"));
  }
}

TEST_CASE("a gap in the all-reduce names who waited first, after the epoch", "[status]") {
  std::vector<RankInfo> infos(3);
  infos[1].host = "b";
  infos[2].host = "c";
  EpochRecord epoch;
  epoch.epoch = 2;
  epoch.clocks.resize(3);
  epoch.bucket_records.resize(3);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    // Rank 2 has its message after 7.9 s, rank 0 its own 10 ms later, rank 1 another 10 ms later.
    const std::size_t turn = (rank + 1) % 3;
    const double seconds = 7.9 + 0.01 * double(turn);
    epoch.bucket_records[rank].push_back(
        {.epoch = 2,
         .step = 33,
         .begin = 1,
         .transfer = seconds,
         .long_message = {1, seconds, int(turn), int(rank + 2) % 3, 5 + turn, 5 + turn}});
  }
  std::vector<RankTimes> ranks = three_ranks(0.5F);
  for (RankTimes& rank : ranks) rank.phases[std::size_t(Phase::all_reduce)] = 8;
  RunPace pace = steady_pace();
  pace.add(2, 33, ranks);
  CHECK(pace.take_gap());
  EpochRecord other = epoch;
  other.epoch = 1;
  pace.compare_messages(other);
  CHECK_FALSE(pace.take_gap());
  pace.compare_messages(epoch);
  const auto gap = pace.take_gap();  // told again
  REQUIRE(gap);
  CHECK(gap_text(*gap, infos) ==
        "step 33 of epoch 2 took 8.5 s, 17 times the usual 0.5 s: in the all-reduce: rank 2 on c "
        "waited first, 7.9 s for rank 1 on b");
  StepGap both = *gap;
  both.waited->mutual = true;
  CHECK_THAT(gap_text(both, infos),
             Catch::EndsWith("rank 2 on c and rank 1 on b waited first, 7.9 s for each other"));
  pace.compare_messages(epoch);
  CHECK_FALSE(pace.take_gap());
  // Half of what the step took longer than usual is a long wait, and no less.
  for (auto& records : epoch.bucket_records) {
    const double factor = 3.99 / records[0].transfer;
    records[0].transfer *= factor;
  }
  RunPace less = steady_pace();
  less.add(2, 33, ranks);
  less.compare_messages(epoch);
  CHECK_FALSE(less.longest_gap()->waited);
  for (auto& records : epoch.bucket_records) records[0].transfer = 4.01;
  RunPace enough = steady_pace();
  enough.add(2, 33, ranks);
  enough.compare_messages(epoch);
  CHECK(enough.longest_gap()->waited);
}
