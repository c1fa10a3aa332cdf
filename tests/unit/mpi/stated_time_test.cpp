#include "tests/support/stated_time.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "backend/bucket_schedule.hpp"
#include "base/waiting.hpp"
#include "model/registry.hpp"
#include "mpi/sums/ring_all_reduce.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "run/wiring/reduce_rule.hpp"
#include "tests/support/thread_cases.hpp"
#include "tests/support/values.hpp"

using namespace rueda;
using namespace rueda::test;

namespace {

constexpr double kMicro = 1e-6;
constexpr int kRanks = 4;
constexpr double kBackwardSeconds =
    1100 * kMicro;  // ResNet-18, 128 images of 32 pixels, on an H100

/// How a rank waits and cuts chunks; all else is stated for both.
struct Way {
  const char* name;
  StatedTimes times;
  std::size_t segment_bytes = 0;
};

/// Devices of one host as the product takes them to be, with the costs of CUDA's calls.
StatedTimes devices() {
  const cost::Machine& machine = kDevicesOfHost;
  return {.message = machine.inside,
          .add_byte = machine.gamma,
          .launch = 5 * kMicro,
          .look = 2 * kMicro,
          .wake = 35 * kMicro};
}

/// Every wait sleeps, sleeps of 20 us end 50 us late, segments are of 4 MiB.
Way former() {
  StatedTimes times = devices();
  times.look_late = 70 * kMicro / 2;  // half of the time between two looks
  return {"sleeps; 4 MiB", times, std::size_t{4} << 20U};
}

/// As the product waits and cuts.
Way present() {
  StatedTimes times = devices();
  times.patience = std::chrono::duration<double>(kLookTime).count();
  times.look_late = std::chrono::duration<double>(kNap).count() / 2;
  return {"looks, then sleeps; segments by their cost", times,
          usual_segment_bytes({.most_on_a_host = kRanks, .memory_is_on_host = false})};
}

/// When the sum of each bucket ends, in seconds from the begin of backward; the last rank's.
using Ends = std::vector<double>;

/// Sums of buckets by the ring of `way`, each as soon as it is complete.
class StatedStep {
 public:
  StatedStep(ThreadGroup& ranks, const Way& way)
      : ranks_(ranks),
        clock_(way.times),
        device_(clock_),
        ring_(std::make_unique<StatedExchange>(std::make_unique<ThreadExchange>(ranks), clock_),
              device_, way.segment_bytes / sizeof(float)) {}

  Ends sum(const std::vector<cost::Bucket>& buckets, double backward) {
    Ends ends;
    for (const cost::Bucket& bucket : buckets) {
      clock_.wait_for(bucket.ready * backward, clock_.times().look_late);
      exact_ = sum_one(std::size_t(bucket.bytes) / sizeof(float)) && exact_;
      ends.push_back(max_over_ranks(ranks_, clock_.now()));
    }
    return ends;
  }
  /// Whether all sums so far were those of the values.
  bool exact() const { return exact_; }

 private:
  bool sum_one(std::size_t length) {
    auto slice = filled<whole_value>(ranks_.rank(), length);
    device_.wait(sum_unread(ring_, slice, {}));
    for (std::size_t i = 0; i < length; ++i)
      if (slice[i] != whole_sum(ranks_.size(), i)) return false;
    return true;
  }

  ThreadGroup& ranks_;
  StatedClock clock_;
  StatedReduceDevice device_;
  RingAllReduce ring_;
  bool exact_ = true;
};

/// ResNet-18's, as training cuts them by default.
std::vector<cost::Bucket> resnet18_buckets() {
  return cost::bucket_schedule(build_model("resnet18", 32, 10), BucketOptions().most_bytes);
}

double exposed(const Ends& ends, double backward) { return std::max(0.0, ends.back() - backward); }

TEST_CASE("the ring takes the time that the model says", "[stated_time]") {
  constexpr std::size_t kChunk = 12'000;  // floats
  for (const int size : {2, 3, 4, 5, 8}) {
    on_threads(size, [](TestRank& on) {
      const auto ranks = std::size_t(on.size());
      const double bytes = double(kChunk * ranks) * sizeof(float);
      // Additions that take less than a message, and more.
      for (const double add_byte : {0.2e-9, 5e-9}) {
        for (const std::size_t segments : {1U, 2U, 3U, 6U}) {
          const StatedTimes times{.message = {20 * kMicro, 1e-9}, .add_byte = add_byte};
          StatedStep step(on.group, {"", times, kChunk / segments * sizeof(float)});
          const double seconds = step.sum({{bytes, 0}}, 0).back();
          const cost::Machine machine{times.message, {}, add_byte, ranks};
          const double model = cost::segmented_ring_seconds(machine, ranks, bytes, segments);
          CHECK_ON_THREAD(on, step.exact(), "{} segments", segments);
          CHECK_ON_THREAD(on, std::abs(seconds - model) < 1e-6 * model, "{} and {} s, {} segments",
                          seconds, model, segments);
        }
      }
    });
  }
}

TEST_CASE("little of the sums of ResNet-18 is exposed on four devices", "[stated_time]") {
  const auto buckets = resnet18_buckets();
  on_threads(kRanks, [&](TestRank& on) {
    StatedStep before(on.group, former());
    StatedStep after(on.group, present());
    const double was = exposed(before.sum(buckets, kBackwardSeconds), kBackwardSeconds);
    const double is = exposed(after.sum(buckets, kBackwardSeconds), kBackwardSeconds);
    CHECK_ON_THREAD(on, before.exact() && after.exact(), "sums");
    CHECK_ON_THREAD(on, is <= 0.62 * was, "{} of {} s", is, was);
  });
}

/// Prints when the buckets of a step of `backward` seconds are summed; returns what is exposed.
double show(TestRank& on, const Way& way, double backward) {
  const auto buckets = resnet18_buckets();
  const Ends ends = StatedStep(on.group, way).sum(buckets, backward);
  if (on.rank() > 0) return exposed(ends, backward);
  std::cout << fmt::format("\n{}\n{:>10} {:>10} {:>10}\n", way.name, "MB", "ready, us",
                           "ended, us");
  for (std::size_t i = 0; i < ends.size(); ++i) {
    std::cout << fmt::format("{:10.2f} {:10.0f} {:10.0f}\n", buckets[i].bytes / 1e6,
                             buckets[i].ready * backward / kMicro, ends[i] / kMicro);
  }
  return exposed(ends, backward);
}

/// `build/tests/unit "[exposed]"` shows it.
TEST_CASE("what a step of ResNet-18 exposes, before and after", "[.][exposed]") {
  const Way halfway{"looks, then sleeps; 4 MiB", present().times, former().segment_bytes};
  for (const double backward : {kBackwardSeconds, 4 * kBackwardSeconds}) {
    on_threads(kRanks, [&](TestRank& on) {
      const double first = show(on, former(), backward);
      const double second = show(on, halfway, backward);
      const double third = show(on, present(), backward);
      if (on.rank() > 0) return;
      std::cout << fmt::format(
          "\nbackward {:.0f} us, exposed {:.0f} us; then {:.0f}, {:.2f} of it; "
          "then {:.0f}, {:.2f} of it\n",
          backward / kMicro, first / kMicro, second / kMicro, second / first, third / kMicro,
          third / first);
    });
  }
}

}  // namespace
