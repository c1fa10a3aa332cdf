#include "backend/bucket_schedule.hpp"

#include <array>

#include <catch2/catch.hpp>

#include "model/registry.hpp"
#include "rueda/backend/gradient_arena.hpp"

using namespace rueda;
using namespace rueda::cost;

namespace {

/// When the last of `buckets` is summed, found moment by moment.
double walked_end(const std::vector<Bucket>& buckets, const std::vector<double>& seconds,
                  double backward) {
  constexpr double kTick = 1e-4;
  std::size_t next = 0;
  double left = seconds[0];
  for (double now = 0;; now += kTick) {
    if (now < buckets[next].ready * backward - kTick / 2) continue;
    left -= kTick;
    if (left > kTick / 2) continue;
    if (++next == buckets.size()) return now + kTick;
    left = seconds[next];
  }
}

}  // namespace

TEST_CASE("buckets wait for backward and for each other", "[cost]") {
  const std::vector<Bucket> buckets = {{1, 0.1}, {1, 0.3}, {1, 0.9}, {1, 1}};
  for (const auto& seconds : std::vector<std::vector<double>>{
           {0.01, 0.01, 0.01, 0.01}, {0.5, 0.1, 0.1, 0.1}, {0.1, 0.7, 0.2, 0.3}, {2, 1, 1, 0.5}}) {
    const BucketTimes times = run_buckets(buckets, seconds, 1, true);
    CHECK(times.ended == Approx(walked_end(buckets, seconds, 1)).epsilon(1e-3));
    CHECK(times.exposed == Approx(times.ended - 1));
    const double sum = seconds[0] + seconds[1] + seconds[2] + seconds[3];
    CHECK(times.all_reduce == Approx(sum));
    CHECK(run_buckets(buckets, seconds, 1, false).exposed == Approx(sum));
  }
}

TEST_CASE("the buckets of a network", "[cost]") {
  const Graph graph = build_model("resnet18", 32, 10);
  const auto buckets = bucket_schedule(graph, 25'000'000);
  double bytes = 0;
  double ready = 0;
  for (const Bucket& bucket : buckets) {
    CHECK(bucket.ready >= ready);
    ready = bucket.ready;
    bytes += bucket.bytes;
  }
  CHECK(bytes == 4.0 * double(GradientLayout(graph).total()));
  CHECK(buckets.size() == plan_buckets(graph, {}).size());
  CHECK(buckets.back().ready == Approx(1));
  // Backward begins with the last stage: few FLOPs, most of the parameters.
  CHECK(buckets.front().ready < 0.07);
  CHECK(bucket_schedule(graph, 0).size() == 1);
}

TEST_CASE("chosen buckets are nearly as good as the best of any size", "[cost]") {
  const Graph graph = build_model("resnet18", 32, 10);
  const double all = 4.0 * double(GradientLayout(graph).total());
  // Seconds of a sum, however short; bytes a second; backward in multiples of the sum of all.
  const std::vector<std::array<double, 3>> cases = {
      {7e-4, 79e6, 1}, {7e-4, 79e6, 3}, {6e-3, 79e6, 1}, {0.3, 79e6, 0.5},
      {0.1, 1e9, 2},   {1e-4, 1e9, 1},  {2e-3, 1e9, 0.1}};
  for (const auto& [alpha, rate, multiple] : cases) {
    CAPTURE(alpha, rate, multiple);
    const double backward = multiple * (alpha + all / rate);
    const auto exposed = [&](double mb) {
      double end = 0;
      double total = 0;
      for (const Bucket& bucket : bucket_schedule(graph, std::size_t(mb * 1e6))) {
        end = std::max(end, bucket.ready * backward) + alpha + bucket.bytes / rate;
        total += alpha + bucket.bytes / rate;
      }
      return std::pair{end - backward, total};
    };
    double best = exposed(0).first;
    for (double mb = 0.1; mb < 100; mb *= 1.05) best = std::min(best, exposed(mb).first);
    const auto [waits, total] =
        exposed(choose_bucket_mb(graph, {.alpha = alpha, .beta = 1 / rate}, backward));
    CHECK(backward + waits <= 1.02 * (backward + best));
    if (alpha < 0.01 && multiple >= 1) CHECK(waits <= 0.12 * total);
  }
  // Where only messages cost, one sum; where only bytes do, and all else is hidden, a short last.
  CHECK(choose_bucket_mb(graph, {.alpha = 1, .beta = 0}, 0.1) == 0);
  CHECK(choose_bucket_mb(graph, {.alpha = 0, .beta = 1e-8}, 0.45) > 0);
  // All sums take half a per cent of backward: less than the percent that is worth more of them.
  CHECK(choose_bucket_mb(graph, {.alpha = 0, .beta = 0.005 * 0.9 / all}, 0.9) == 0);
}

TEST_CASE("buckets as a run had them", "[cost]") {
  const Graph graph = build_model("resnet20", 32, 10);
  std::vector<std::size_t> bytes;
  for (const Bucket& bucket : bucket_schedule(graph, 200'000))
    bytes.push_back(std::size_t(bucket.bytes));
  const auto again = bucket_schedule(graph, bytes);
  REQUIRE(again.size() == bytes.size());
  CHECK(again[0].ready < again[1].ready);
  const auto strange = bucket_schedule(graph, std::vector<std::size_t>{400, 800});
  REQUIRE(strange.size() == 2);
  CHECK(strange[1].bytes == 800);
  CHECK(strange[0].ready == 1);
}
