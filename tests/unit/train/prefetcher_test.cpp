#include "train/prefetcher.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <numeric>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "rueda/train/timings.hpp"
#include "train/phase_timer.hpp"

namespace rueda {
namespace {

constexpr std::size_t kSlots = 2;

/// Batches of given sizes; what "image" i of batch b becomes is a number of its own.
class Numbers : public PrefetchSource {
 public:
  explicit Numbers(std::vector<std::size_t> sizes) : sizes_(std::move(sizes)) {}

  std::size_t begin(std::size_t slot) override {
    if (begun == sizes_.size()) return 0;
    batches[slot] = begun;
    values[slot].assign(sizes_[begun], 0);
    return sizes_[begun++];
  }
  void prepare(std::size_t slot, Range images) override {
    for (std::size_t i = images.begin; i < images.end; ++i)
      values[slot][i] += 1000 * (batches[slot] + 1) + i;
  }
  void complete(std::size_t slot, std::size_t images) override {
    ++completed;
    whole = whole && images == values[slot].size() && is_right(slot);
  }

  /// Every image prepared, and only once.
  bool is_right(std::size_t slot) const {
    for (std::size_t i = 0; i < values[slot].size(); ++i)
      if (values[slot][i] != 1000 * (batches[slot] + 1) + i) return false;
    return true;
  }

  std::atomic<std::size_t> begun = 0;
  std::atomic<std::size_t> completed = 0;
  std::atomic<bool> whole = true;  ///< each batch was right when it was completed
  std::array<std::size_t, kSlots> batches{};
  std::array<std::vector<std::size_t>, kSlots> values;

 private:
  std::vector<std::size_t> sizes_;
};

TEST_CASE("prefetcher: batches come in order, each image prepared once", "[prefetcher]") {
  const std::vector<std::size_t> sizes = {1, 7, 8, 9, 64, 3, 100, 17};
  for (const std::size_t workers : {0, 1, 2, 5}) {
    CAPTURE(workers);
    Numbers source(sizes);
    Prefetcher prefetcher(source, kSlots, workers);
    for (std::size_t b = 0; b < sizes.size(); ++b) {
      const Prefetcher::Batch batch = prefetcher.take();
      CHECK(batch.slot == b % kSlots);
      CHECK(batch.images == sizes[b]);
      CHECK(source.batches[batch.slot] == b);
      CHECK(source.is_right(batch.slot));
      prefetcher.release();
    }
    CHECK(source.whole);
    CHECK(source.completed == sizes.size());
    CHECK_THROWS_AS(prefetcher.take(), RunError);
  }
}

/// Lets every thread that prepares wait, and counts them.
class Gated final : public Numbers {
 public:
  using Numbers::Numbers;
  void prepare(std::size_t slot, Range images) override {
    if (++waiting == expected) all_there.set_value();
    gate.wait();
    Numbers::prepare(slot, images);
  }

  int expected = 0;
  std::atomic<int> waiting = 0;
  std::promise<void> all_there;
  std::promise<void> opening;
  std::shared_future<void> gate = opening.get_future().share();
};

TEST_CASE("prefetcher: all workers prepare the batch that is needed next", "[prefetcher]") {
  Gated source({100, 100});
  source.expected = 4;
  Prefetcher prefetcher(source, kSlots, 4);
  source.all_there.get_future().wait();  // for ever, if only one worked on a batch
  CHECK(source.begun == 1);
  source.opening.set_value();
  CHECK(prefetcher.take().images == 100);
}

TEST_CASE("prefetcher: without workers nothing is prepared before it is wanted", "[prefetcher]") {
  Numbers source({5, 5, 5});
  Prefetcher prefetcher(source, kSlots, 0);
  CHECK(source.begun == 0);
  prefetcher.take();
  CHECK(source.begun == 1);
}

/// Tells when a number of batches is complete.
class CountedNumbers final : public Numbers {
 public:
  using Numbers::Numbers;
  void complete(std::size_t slot, std::size_t images) override {
    Numbers::complete(slot, images);
    if (completed == kSlots) filled.set_value();
  }
  std::promise<void> filled;
};

TEST_CASE("prefetcher: a slot is not filled again before it is released", "[prefetcher]") {
  CountedNumbers source({20, 20, 20, 20});
  Prefetcher prefetcher(source, kSlots, 3);
  source.filled.get_future().wait();
  CHECK(prefetcher.take().slot == 0);
  CHECK(prefetcher.take().slot == 1);
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  CHECK(source.begun == kSlots);
  CHECK(source.is_right(0));
  CHECK(source.batches[0] == 0);
  prefetcher.release();
  CHECK(prefetcher.take().slot == 0);
  CHECK(source.batches[0] == 2);
}

/// Throws at one of its three places, in the third batch.
class Throwing final : public Numbers {
 public:
  explicit Throwing(std::string place) : Numbers({20, 20, 20, 20, 20}), place_(std::move(place)) {}
  std::size_t begin(std::size_t slot) override {
    if (begun == 2) stumble("begin");
    return Numbers::begin(slot);
  }
  void prepare(std::size_t slot, Range images) override {
    if (batches[slot] == 2) stumble("prepare");
    Numbers::prepare(slot, images);
  }
  void complete(std::size_t slot, std::size_t images) override {
    if (batches[slot] == 2) stumble("complete");
    Numbers::complete(slot, images);
  }

 private:
  void stumble(const std::string& where) const {
    if (where == place_) throw InputError("stumbled in " + where);
  }
  std::string place_;
};

TEST_CASE("prefetcher: what a worker meets is thrown to the taker", "[prefetcher]") {
  for (const char* place : {"begin", "prepare", "complete"}) {
    for (const std::size_t workers : {0, 1, 3}) {
      CAPTURE(place, workers);
      Throwing source(place);
      Prefetcher prefetcher(source, kSlots, workers);
      const auto take_all = [&] {
        for (int b = 0; b < 5; ++b) {
          prefetcher.take();
          prefetcher.release();
        }
      };
      CHECK_THROWS_AS(take_all(), InputError);
      CHECK_THROWS_WITH(prefetcher.take(), std::string("stumbled in ") + place);
      // The batch in the other slot may be under way when one stumbles.
      CHECK(source.completed <= (workers > 1 ? 3 : 2));
    }
  }
}

/// A batch without end. Notes a call that comes too late.
class Mortal final : public PrefetchSource {
 public:
  std::size_t begin(std::size_t) override { return std::size_t{1} << 60U; }
  void prepare(std::size_t, Range) override {
    if (!alive) late = true;
    if (++pieces == 3) busy.set_value();
  }
  void complete(std::size_t, std::size_t) override {}
  std::atomic<bool> alive = true;
  std::atomic<bool> late = false;
  std::atomic<int> pieces = 0;
  std::promise<void> busy;
};

TEST_CASE("prefetcher: its workers end with it, in the middle of a batch", "[prefetcher]") {
  Mortal source;
  {
    Prefetcher prefetcher(source, kSlots, 3);
    source.busy.get_future().wait();
  }
  source.alive = false;
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  CHECK_FALSE(source.late);
}

double of(const PhaseSeconds& seconds, Phase phase) { return seconds[std::size_t(phase)]; }

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

PhaseTimer in_forward() {
  PhaseTimer timer;
  timer.begin();
  timer.enter(Phase::forward);
  return timer;
}

/// At the end of a step its phases add up to it.
void check_sum(PhaseTimer& timer) {
  const double total = timer.end();
  CHECK(std::accumulate(timer.seconds().begin(), timer.seconds().end(), 0.0) ==
        Approx(total).epsilon(1e-9));
}

TEST_CASE("phase timer: parts that fit are booked as they are, the rest on the update", "[timer]") {
  PhaseTimer timer = in_forward();
  spend_time();
  timer.divide(parts(1e-9, 2e-9, 4e-9));
  CHECK(of(timer.seconds(), Phase::load) == 1e-9);
  CHECK(of(timer.seconds(), Phase::forward) == 2e-9);
  CHECK(of(timer.seconds(), Phase::backward) == 4e-9);
  CHECK(of(timer.seconds(), Phase::optimizer) >= 1e-6 - 7e-9);
  check_sum(timer);
}

TEST_CASE("phase timer: parts that do not fit are cut in proportion", "[timer]") {
  PhaseTimer timer = in_forward();
  const double other = of(timer.seconds(), Phase::other);
  spend_time();
  timer.divide(parts(1e6, 2e6, 4e6));
  const PhaseSeconds seconds = timer.seconds();
  CHECK(of(seconds, Phase::forward) == Approx(2 * of(seconds, Phase::load)));
  CHECK(of(seconds, Phase::backward) == Approx(4 * of(seconds, Phase::load)));
  CHECK(of(seconds, Phase::load) > 0);
  CHECK(of(seconds, Phase::other) == Approx(other).margin(1e-15));
  check_sum(timer);
}

TEST_CASE("phase timer: time is booked from the division on", "[timer]") {
  PhaseTimer timer = in_forward();
  spend_time();
  timer.divide({});
  CHECK(of(timer.seconds(), Phase::forward) == 0);
  spend_time();
  timer.enter(Phase::optimizer);
  CHECK(of(timer.seconds(), Phase::forward) >= 1e-6);
  check_sum(timer);
}

TEST_CASE("phase timer: parts of a device's time follow one another", "[trace]") {
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
