#include "train/gradient_reducer.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <thread>

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "tests/support/replica_bench.hpp"
#include "tests/support/small_graphs.hpp"
#include "tests/support/training_bench.hpp"

namespace rueda::test {
namespace {

/// Pretends to be one of two ranks with the same gradients, and remembers who asked for what.
class Doubler final : public AllReduce {
 public:
  explicit Doubler(Backend& backend) : backend_(backend) {}
  std::string_view name() const override { return "doubler"; }
  Event sum_exactly(std::span<float> slice, Event ready, ReduceJournal& journal) override {
    exact = slice.size();
    return sum(slice, ready, journal);
  }
  Event sum(std::span<float> slice, Event, ReduceJournal&) override {
    ++calls;
    if (calls == 1 && hold_first) hold_first();
    threads.push_back(std::this_thread::get_id());
    lengths.push_back(slice.size());
    if (fails_at == lengths.size()) throw RunError("the peer is gone");
    ReduceDevice& device = backend_.reduce_device();
    device.add(slice, slice);
    return device.record_own();
  }

  std::vector<std::thread::id> threads;
  std::vector<std::size_t> lengths;
  std::size_t fails_at = 0;
  std::size_t exact = 0;  ///< floats of the last exact sum
  std::function<void()> hold_first = {};
  std::atomic<int> calls{0};  ///< for other threads

 private:
  Backend& backend_;
};

/// One training step's gradients, summed with or without a thread.
struct ReducerBench {
  ReducerBench()
      : graph(small_preactivation(quick_image_size())),
        images(random_images(4)),
        bench(graph, images, random_vector(3, graph.parameter_count(), 0.3), {4}),
        doubler(bench.backend()),
        ends(plan_buckets(graph, {.most_bytes = 400})) {}

  std::unique_ptr<GradientReducer> reducer(bool overlaps, TurnHooks turn = {}) {
    return std::make_unique<GradientReducer>(
        ReducerParts{bench.replica(), doubler, ends, overlaps, std::move(turn)});
  }

  std::vector<float> gradients_after(
      GradientReducer& reducer, bool announced,
      const std::vector<std::uint32_t>& indices = {0, 1, 2, 3},
      const std::function<void()>& before_load = [] {}) {
    reducer.begin(1, announced);
    before_load();
    bench.load(indices);
    bench.replica().compute(0.25F);
    reducer.complete();
    for (std::size_t i = 0; i < reducer.buckets();) i = reducer.wait(i);
    reducer.end();
    std::vector<float> host(bench.replica().gradients().size());
    bench.backend().download(host, bench.replica().gradients());
    return host;
  }

  Graph graph;
  ImageSet images;
  ReplicaBench bench;
  Doubler doubler;
  std::vector<std::size_t> ends;
};

TEST_CASE("gradient reducer: on a thread of its own the same bits", "[backend][reducer]") {
  ReducerBench plain;
  const auto expected = plain.gradients_after(*plain.reducer(false), true);
  REQUIRE(plain.ends.size() > 3);
  CHECK(plain.doubler.lengths.size() == plain.ends.size());
  for (const bool announced : {true, false}) {
    ReducerBench other;
    const auto reducer = other.reducer(true);
    for (int step = 0; step < 3; ++step)
      CHECK(other.gradients_after(*reducer, announced) == expected);
    CHECK(other.doubler.threads.size() == 3 * other.ends.size());
    for (const auto& thread : other.doubler.threads) CHECK(thread != std::this_thread::get_id());
    CHECK_FALSE(reducer->busy());
  }
}

TEST_CASE("gradient reducer: nothing is summed before it is complete", "[backend][reducer]") {
  for (const bool announced : {true, false}) {
    ReducerBench bench;
    const auto reducer = bench.reducer(true);
    bench.gradients_after(*reducer, announced);
    const int before = bench.doubler.calls;
    bench.gradients_after(*reducer, announced, {0, 1, 2, 3}, [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      CHECK(bench.doubler.calls == before);
    });
    CHECK(bench.doubler.calls == 2 * before);
  }
}

/// Reads what it sums as MPI does, without waiting for the device.
class Reader final : public AllReduce {
 public:
  explicit Reader(ReduceDevice& device) : device_(device) {}
  std::string_view name() const override { return "reader"; }
  Event sum(std::span<float> slice, Event ready, ReduceJournal&) override {
    slices.push_back(slice);
    seen.push_back(device_.check_sum(slice));
    return ready;
  }
  std::vector<std::span<float>> slices;
  std::vector<std::uint64_t> seen;

 private:
  ReduceDevice& device_;
};

/// Sums of micro-batches on a device that has other work to sum before.
struct BusySums {
  BusySums(Backend& on, std::size_t floats)
      : backend(on), accumulator(on, floats, 2), work(on, std::vector<float>(1000)) {}

  void push(std::span<const float> arena) {
    keep_busy();
    accumulator.push(arena);
  }
  void finish(std::span<float> arena) {
    keep_busy();
    accumulator.finish(arena);
  }
  void keep_busy() {
    for (int i = 0; i < 50; ++i) backend.reduce_device().add(work.span(), work.span());
  }

  Backend& backend;
  GradientAccumulator accumulator;
  DeviceFloats work;
};

TEST_CASE("micro-batches: what is computed next waits for their sums", "[backend][reducer]") {
  constexpr std::size_t kFloats = 3;
  const auto backend = open_backend_under_test();
  const DeviceFloats arena(*backend, std::vector<float>(kFloats));
  BusySums sums(*backend, kFloats);
  for (const float gradient : {1.0F, 2.0F}) {
    backend->upload(arena.span(), std::vector<float>(kFloats, gradient));
    sums.push(arena.span());
    backend->zero(arena.span());  // what the next micro-batch computes, which is awaited
    backend->finish();
  }
  sums.finish(arena.span());
  std::vector<float> read(kFloats);
  backend->download(read, arena.span());
  CHECK(read == std::vector<float>(kFloats, 3.0F));
}

TEST_CASE("micro-batches: their sums are complete before others' are added", "[backend][reducer]") {
  const bool overlaps = GENERATE(false, true);
  ReducerBench bench;
  Replica& replica = bench.bench.replica();
  ReduceDevice& device = bench.bench.backend().reduce_device();
  Reader reader(device);
  GradientReducer reducer({replica, reader, bench.ends, overlaps});
  BusySums sums(bench.bench.backend(), replica.computed().size());
  reducer.begin(1, false);
  for (int k = 0; k < 2; ++k) {
    bench.bench.load({0, 1, 2, 3});
    replica.compute(0.25F);
    sums.push(replica.computed());
  }
  sums.finish(replica.computed());
  reducer.complete();
  for (std::size_t i = 0; i < reducer.buckets();) i = reducer.wait(i);
  reducer.end();
  device.wait(device.record());
  REQUIRE(reader.seen.size() == bench.ends.size());
  for (std::size_t i = 0; i < reader.seen.size(); ++i)
    CHECK(reader.seen[i] == device.check_sum(reader.slices[i]));
}

TEST_CASE("gradient reducer: a tail of its own is summed exactly", "[backend][reducer]") {
  ReducerBench bench;
  bench.gradients_after(*bench.reducer(false), true);
  CHECK(bench.doubler.exact == 0);
  bench.ends = plan_buckets(bench.graph, {.most_bytes = 400, .tail_apart = true});
  bench.gradients_after(*bench.reducer(false), true);
  const GradientLayout layout(bench.graph);
  CHECK(bench.doubler.exact == layout.total() - layout.parameters);
}

TEST_CASE("gradient reducer: a rank without samples takes part", "[backend][reducer]") {
  ReducerBench bench;
  const auto reducer = bench.reducer(true);
  const auto gradients = bench.gradients_after(*reducer, true, {});
  CHECK(gradients == std::vector<float>(gradients.size(), 0.0F));
  CHECK(bench.doubler.lengths.size() == bench.ends.size());
}

TEST_CASE("gradient reducer: buckets are recorded in order, ready before they begin",
          "[backend][reducer]") {
  ReducerBench bench;
  for (const bool overlaps : {false, true}) {
    const auto reducer = bench.reducer(overlaps);
    bench.gradients_after(*reducer, true);
    const auto records = reducer->take_records();
    REQUIRE(records.size() == bench.ends.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
      CHECK(records[i].bucket == i);
      CHECK(records[i].ready <= records[i].begin);
      CHECK(records[i].begin <= records[i].end);
      if (i > 0) CHECK(records[i].begin >= records[i - 1].end);
    }
    CHECK(reducer->take_records().empty());
  }
}

TEST_CASE("gradient reducer: a bucket is ready when its gradients are, not when its turn comes",
          "[backend][reducer]") {
  ReducerBench bench;
  std::promise<void> gate;
  bench.doubler.hold_first = [&] { gate.get_future().wait(); };
  const auto reducer = bench.reducer(true);
  reducer->begin(1, false);  // all buckets are complete at once
  bench.bench.load({0, 1, 2, 3});
  bench.bench.replica().compute(0.25F);
  reducer->complete();
  gate.set_value();
  for (std::size_t i = 0; i < reducer->buckets();) i = reducer->wait(i);
  reducer->end();
  const auto records = reducer->take_records();
  REQUIRE(records.size() > 1);
  for (std::size_t i = 1; i < records.size(); ++i) {
    CHECK(records[i].ready == records[0].ready);
    CHECK(records[i].begin > records[i].ready);
  }
}

TEST_CASE("gradient reducer: the turn goes to the thread and comes back", "[backend][reducer]") {
  ReducerBench bench;
  std::atomic<int> holders{1};  // the training thread
  std::atomic<bool> clash{false};
  const TurnHooks turn{.take = [&] { clash = clash || ++holders != 1; },
                       .give = [&] { clash = clash || --holders != 0; }};
  const auto reducer = bench.reducer(true, turn);
  for (int step = 0; step < 20; ++step) {
    bench.gradients_after(*reducer, true);
    CHECK(holders == 1);
  }
  CHECK_FALSE(clash);
}

TEST_CASE("gradient reducer: what the thread met, the waiting one throws", "[backend][reducer]") {
  ReducerBench bench;
  bench.doubler.fails_at = 2;
  const auto reducer = bench.reducer(true);
  CHECK_THROWS_WITH(bench.gradients_after(*reducer, true), "the peer is gone");
  CHECK_FALSE(reducer->busy());  // so that it may be destroyed
}

TEST_CASE("gradient reducer: training in buckets changes no bit", "[backend][reducer]") {
  TrainConfig config = small_run();
  config.sums.bucket_mb = 0;
  const RunRecord whole = SoloTraining(config).train();
  for (const double mb : {0.000001, 0.1, 0.6}) {
    config.sums.bucket_mb = mb;
    const RunRecord run = SoloTraining(config).train();
    CHECK(run.epochs.back().parameter_hash == whole.epochs.back().parameter_hash);
    CHECK(run.epochs.back().bucket_records[0].size() >
          whole.epochs.back().bucket_records[0].size());
  }
}

}  // namespace
}  // namespace rueda::test
