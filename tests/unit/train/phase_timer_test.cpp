#include <algorithm>
#include <numeric>

#include <catch2/catch.hpp>

#include "rueda/train/timings.hpp"

namespace rueda {
namespace {

double of(const PhaseSeconds& seconds, Phase phase) { return seconds[std::size_t(phase)]; }

double sum(const PhaseSeconds& seconds) {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

PhaseSeconds parts(double load, double forward, double backward) {
  PhaseSeconds seconds{};
  seconds[std::size_t(Phase::load)] = load;
  seconds[std::size_t(Phase::forward)] = forward;
  seconds[std::size_t(Phase::backward)] = backward;
  return seconds;
}

/// Until the clock has moved by that much.
void spend_time(std::chrono::microseconds time = std::chrono::microseconds(1)) {
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < time) continue;
}

TEST_CASE("phase timer: parts that fit are booked as they are, the rest on other", "[timer]") {
  PhaseTimer timer;
  timer.begin();
  timer.enter(Phase::forward);
  spend_time();
  timer.divide(parts(1e-9, 2e-9, 4e-9));
  CHECK(of(timer.seconds(), Phase::load) == 1e-9);
  CHECK(of(timer.seconds(), Phase::forward) == 2e-9);
  CHECK(of(timer.seconds(), Phase::backward) == 4e-9);
  CHECK(of(timer.seconds(), Phase::other) >= 1e-6 - 7e-9);
  const double total = timer.end();
  CHECK(sum(timer.seconds()) == Approx(total).epsilon(1e-9));
}

TEST_CASE("phase timer: parts that do not fit are cut in proportion", "[timer]") {
  PhaseTimer timer;
  timer.begin();
  timer.enter(Phase::forward);
  const double other = of(timer.seconds(), Phase::other);
  spend_time();
  timer.divide(parts(1e6, 2e6, 4e6));
  const PhaseSeconds seconds = timer.seconds();
  CHECK(of(seconds, Phase::forward) == Approx(2 * of(seconds, Phase::load)));
  CHECK(of(seconds, Phase::backward) == Approx(4 * of(seconds, Phase::load)));
  CHECK(of(seconds, Phase::load) > 0);
  CHECK(of(seconds, Phase::other) == Approx(other).margin(1e-15));
  const double total = timer.end();
  CHECK(sum(timer.seconds()) == Approx(total).epsilon(1e-9));
}

TEST_CASE("phase timer: time is booked from the division on", "[timer]") {
  PhaseTimer timer;
  timer.begin();
  timer.enter(Phase::forward);
  spend_time();
  timer.divide({});
  const double before = of(timer.seconds(), Phase::forward);
  CHECK(before == 0);
  spend_time();
  timer.enter(Phase::optimizer);
  CHECK(of(timer.seconds(), Phase::forward) >= 1e-6);
  const double total = timer.end();
  CHECK(sum(timer.seconds()) == Approx(total).epsilon(1e-9));
}

TEST_CASE("phase timer: parts of a device's time lie behind one another", "[trace]") {
  PhaseTimer timer;
  timer.keep_spans(true);
  timer.begin();
  timer.enter(Phase::forward);
  spend_time(std::chrono::milliseconds(2));
  timer.divide(parts(0, 0.0005, 0.001));
  timer.end();
  const auto spans = timer.take_spans();
  REQUIRE(spans.size() >= 3);  // perhaps an empty stretch before the forward pass
  const auto forward = std::ranges::find(spans, Phase::forward, &PhaseSpan::phase);
  REQUIRE(forward + 1 < spans.end());
  const PhaseSpan& backward = *(forward + 1);
  CHECK(backward.phase == Phase::backward);
  CHECK(forward->end == backward.begin);
  CHECK(std::chrono::duration<double>(forward->end - forward->begin).count() == Approx(0.0005));
  CHECK(std::chrono::duration<double>(backward.end - backward.begin).count() == Approx(0.001));
}

}  // namespace
}  // namespace rueda
