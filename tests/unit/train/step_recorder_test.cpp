#include "train/step_recorder.hpp"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "display/model_summary.hpp"
#include "display/run_text.hpp"
#include "record/aggregation.hpp"
#include "record/run_json.hpp"
#include "tests/support/sample_run.hpp"

namespace rueda {
namespace {

using Catch::Contains;

using nlohmann::json;
using test::content;
using test::ScratchDirectory;

SteadyTime at(double seconds) {
  return SteadyTime(
      std::chrono::duration_cast<SteadyTime::duration>(std::chrono::duration<double>(seconds)));
}

std::vector<TraceSpan> one_step() {
  const BucketRecord bucket{.bucket = 1, .ready = 10.2, .begin = 10.3, .end = 10.5};
  const ReduceAct act{ReduceAct::Kind::transfer, "reduce-scatter", 2, 3, 1};
  const ReduceAct add{ReduceAct::Kind::add, "reduce-scatter", 2};
  return trace_step(7, {{Phase::backward, at(10), at(10.4)}}, {bucket},
                    {{act, 1, at(10.3), at(10.35)}, {add, 1, at(10.35), at(10.36)}});
}

/// A bucket whose all-reduce lasted from `begin` to `end`, all of it in messages.
BucketRecord record(std::uint32_t step, double begin, double end) {
  return {.step = step, .begin = begin, .end = end, .transfer = end - begin};
}

/// By rank, steps from `first` on.
std::vector<std::vector<StepRecord>> steps_of(std::size_t ranks, std::size_t count,
                                              std::uint32_t first = 1) {
  std::vector<StepRecord> steps(count);
  for (StepRecord& step : steps) step.step = first++;
  return {ranks, steps};
}

TEST_CASE("the spans of a step add up to its times, on a device that works on its own, too",
          "[trace]") {
  PhaseTimer timer;
  timer.keep_spans(true);
  timer.begin();
  timer.enter(Phase::forward);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  PhaseSeconds parts{};
  parts[std::size_t(Phase::forward)] = 0.002;
  parts[std::size_t(Phase::backward)] = 0.003;
  timer.divide(parts);  // the rest was the update of the step before
  timer.enter(Phase::all_reduce);
  timer.enter(Phase::optimizer);
  timer.end();
  CHECK(timer.seconds()[std::size_t(Phase::optimizer)] > 0.014);
  PhaseSeconds of_spans{};
  SteadyTime last{};
  for (const PhaseSpan& span : timer.take_spans()) {
    of_spans[std::size_t(span.phase)] += seconds_between(span.begin, span.end);
    CHECK(seconds_between(last, span.begin) > -1e-6);  // one after another
    last = span.end;
  }
  for (std::size_t p = 0; p < kPhases; ++p)
    CHECK(of_spans[p] == Approx(timer.seconds()[p]).margin(1e-6));
}

TEST_CASE("trace: phases, buckets and ring steps of a step; long names are cut", "[trace]") {
  const auto spans = one_step();
  REQUIRE(spans.size() == 4);
  CHECK(std::string(spans[0].name.data()) == "backward");
  CHECK(spans[0].lane == TraceLane::training);
  CHECK(spans[0].end - spans[0].begin == Approx(0.4));
  CHECK(std::string(spans[1].name.data()) == "bucket 1");
  CHECK(spans[1].begin == Approx(10.2));  // from the moment it is complete
  CHECK(std::string(spans[2].name.data()) == "reduce-scatter");
  CHECK(spans[2].part == 2);
  CHECK(spans[2].to == 3);
  CHECK(spans[2].from == 1);
  CHECK(std::string(spans[3].name.data()) == "add");
  for (const TraceSpan& span : spans) CHECK(span.step == 7);
  TraceSpan span;
  span.set_name("a name of more than twenty-four letters");
  CHECK(std::string(span.name.data()) == "a name of more than twe");
}

TEST_CASE("trace: all ranks on one clock, in microseconds from the first span", "[trace]") {
  RunRecord run = test::sample_run();
  auto late = one_step();
  align(late, {.first_time = 0, .first = {0.5, 1e-6}, .last_time = 100, .last = {0.5, 1e-6}});
  run.trace = {one_step(), late};
  run.clock_error = 2e-6;
  const json trace = json::parse(to_trace_json(run));
  CHECK(trace.at("otherData").at("clock_error_us").get<double>() == Approx(2));
  std::vector<json> spans;
  std::vector<std::string> ranks;
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") spans.push_back(event);
    if (event.at("name") == "process_name") ranks.push_back(event.at("args").at("name"));
  }
  CHECK(ranks == std::vector<std::string>{"rank 0 on node1", "rank 1 on node1"});
  REQUIRE(spans.size() == 8);
  CHECK(spans[0].at("pid") == 1);  // 0 is for viewers
  CHECK(spans[0].at("ts").get<double>() == Approx(0).margin(1e-6));
  CHECK(spans[0].at("dur").get<double>() == Approx(4e5));
  CHECK(spans[4].at("pid") == 2);
  CHECK(spans[4].at("ts").get<double>() == Approx(5e5));
  CHECK(spans[2].at("tid") == 3);
  CHECK(spans[2].at("args") ==
        json::parse(R"({"step":7,"bucket":1,"ring_step":2,"to_rank":3,"from_rank":1})"));
}

/// Spans of messages, each in its step; `to` and `from` are ranks.
TraceSpan message(std::uint32_t step, double begin, double end, int to, int from) {
  TraceSpan span{.begin = begin,
                 .end = end,
                 .step = step,
                 .lane = TraceLane::all_reduce,
                 .bucket = 0,
                 .part = 0,
                 .to = to,
                 .from = from};
  span.set_name("reduce-scatter");
  return span;
}

/// Arrows of a trace as "sender at time > receiver at time", in the order of the file, and spans
/// "transfer" as "transfer of rank from begin to end".
std::vector<std::string> arrows_of(const RunRecord& run) {
  std::vector<std::string> arrows;
  std::map<int, std::string> begun;
  const json trace = json::parse(to_trace_json(run));
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "M") continue;
    const std::string place = fmt::format("{} at {:.0f}", event.at("pid").get<int>() - 1,
                                          event.at("ts").get<double>() / 1e6);
    if (event.at("ph") == "s") CHECK(begun.emplace(event.at("id"), place).second);
    if (event.at("ph") == "f") arrows.push_back(begun.at(event.at("id")) + " > " + place);
    if (event.at("ph") == "f") CHECK(event.at("bp") == "e");
    if (event.at("name") == "transfer")
      arrows.push_back(fmt::format("{} for {:.0f}", place, event.at("dur").get<double>() / 1e6));
  }
  const auto is_arrow = [](const std::string& one) { return one.find('>') != one.npos; };
  CHECK(std::size_t(std::ranges::count_if(arrows, is_arrow)) == begun.size());
  return arrows;
}

TEST_CASE("trace: an arrow from each message's sender to its receiver, also where it waited",
          "[trace]") {
  using Arrows = std::vector<std::string>;
  RunRecord run = test::sample_run(3, 2);
  // Rank 1 enters late: rank 0 waits for it, and its own message is there before.
  run.trace = {{message(1, 0, 9, 1, 1)}, {message(1, 4, 9, 0, 0)}, {}};
  CHECK(arrows_of(run) == Arrows{"0 at 4 for 5", "1 at 4 > 0 at 4", "0 at 0 > 1 at 4"});
  // A ring of three, of which rank 2 is not traced: one message has both its ends.
  run.trace = {{message(1, 0, 9, 1, 2)}, {message(1, 2, 9, 2, 0)}, {}};
  CHECK(arrows_of(run) == Arrows{"0 at 0 > 1 at 2"});
  // The second message of a step goes to the second, and those of a step to that step alone.
  run.trace = {{message(1, 0, 1, 1, -1), message(1, 2, 3, 1, -1), message(2, 4, 5, 1, -1)},
               {message(1, 0, 1, -1, 0), message(2, 4, 5, -1, 0), message(3, 6, 7, -1, 0)},
               {}};
  CHECK(arrows_of(run) == Arrows{"0 at 0 > 1 at 0", "0 at 4 > 1 at 4"});
  // A clock's error has the receiver end before the sender begins; ranks that nobody has.
  run.trace = {{message(1, 5, 6, 1, 7)}, {message(1, 0, 3, 9, 0)}, {}};
  CHECK(arrows_of(run).empty());
}

/// Ranks with one step each that has these useful seconds, and waits for the rest of ten.
ByRank<StepRecord> steps_with(const std::vector<double>& useful) {
  ByRank<StepRecord> steps;
  for (const double seconds : useful) {
    StepRecord step;
    step.seconds = 10;
    step.phases[kAllReduce] = 10 - seconds;
    steps.push_back({step});
  }
  return steps;
}

TEST_CASE("a trace shows eight ranks at most: rank 0, the slowest, the median", "[trace]") {
  using Ranks = std::vector<std::size_t>;
  CHECK(choose_traced({}).empty());
  CHECK(choose_traced(steps_with({3, 1, 2})) == Ranks{0, 1, 2});
  CHECK(choose_traced(steps_with({1, 2, 3, 4, 5, 6, 7, 8})) == Ranks{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(choose_traced(steps_with({5, 1, 1, 1, 1, 1, 1, 1, 9})).size() == kTracedRanks);
  for (const std::size_t ranks : {9, 10, 17, 64, 1024}) {
    CAPTURE(ranks);
    std::vector<double> useful(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank)
      useful[rank] = 1 + double(rank * 7 % ranks) / double(ranks);
    useful[5] = 9;     // the slowest
    useful[6] = 0.5;   // the fastest
    useful[0] = 1e-3;  // is there in any case
    const Ranks chosen = choose_traced(steps_with(useful));
    CHECK(chosen.size() == kTracedRanks);
    CHECK(std::ranges::is_sorted(chosen));
    CHECK(std::ranges::adjacent_find(chosen) == chosen.end());
    for (const std::size_t rank : {0, 5, 6}) CHECK(std::ranges::count(chosen, rank) == 1);
    Ranks order(ranks - 1);
    std::iota(order.begin(), order.end(), 1);
    std::ranges::stable_sort(order, {}, [&](std::size_t rank) { return useful[rank]; });
    CHECK(std::ranges::count(chosen, order[(order.size() - 1) / 2]) == 1);
  }
}

TEST_CASE("a trace of many ranks has no more of them, and none that has no spans", "[trace]") {
  RunRecord run = test::sample_run(3, 2);
  run.trace.resize(3);
  run.trace[0] = one_step();
  run.trace[2] = one_step();
  const std::string text = to_trace_json(run);
  const ScratchDirectory folder;
  write_trace(folder.path() / "trace.json", run);
  CHECK(content(folder.path() / "trace.json") == text);
  const json parsed = json::parse(text);
  for (const auto& event : parsed.at("traceEvents")) CHECK(event.at("pid") != 2);
  run.trace.clear();
  CHECK(json::parse(to_trace_json(run)).at("traceEvents").empty());
}

TEST_CASE("of samples one stays in each stretch of time", "[train]") {
  std::vector<DeviceSample> samples;
  for (const double seconds : {0.1, 1.1, 2.1, 3.9, 4.0, 9.5})
    samples.push_back({.seconds = seconds});
  thin_samples(samples, 2);
  CHECK(values_of(samples, &DeviceSample::seconds) == std::vector<double>{0.1, 2.1, 4.0, 9.5});
  thin_samples(samples, 2);
  CHECK(samples.size() == 4);
}

TEST_CASE("waiting ends when the last rank begins", "[train]") {
  auto steps = steps_of(3, 2);
  std::vector<std::vector<BucketRecord>> buckets = {
      {record(1, 10, 16), record(1, 17, 18), record(2, 20, 21)},
      {record(1, 14, 16), record(1, 16.5, 18), record(2, 20.5, 21)},
      {record(1, 13, 16), record(1, 17, 18), record(2, 20, 21)}};
  book_waits(steps, buckets, std::vector<ClockFit>(3));
  CHECK(buckets[0][0].wait == Approx(4));
  CHECK(buckets[1][0].wait == 0);
  CHECK(buckets[2][0].wait == Approx(1));
  CHECK(steps[0][0].all_reduce_wait == Approx(4));
  CHECK(steps[1][0].all_reduce_wait == Approx(0.5));  // in its second bucket
  CHECK(steps[2][0].all_reduce_wait == Approx(1));
  CHECK(steps[2][1].all_reduce_wait == Approx(0.5));
  CHECK(steps[1][1].all_reduce_wait == 0);
}

TEST_CASE("no more is waited than was spent in messages", "[train]") {
  auto steps = steps_of(2, 1);
  std::vector<std::vector<BucketRecord>> buckets = {{record(1, 1, 9)}, {record(1, 5, 9)}};
  buckets[0][0].transfer = 3;
  book_waits(steps, buckets, std::vector<ClockFit>(2));
  CHECK(buckets[0][0].wait == 3);
}

TEST_CASE("an epoch that was resumed has no records of its first steps", "[train]") {
  auto steps = steps_of(2, 2, 3);
  std::vector<std::vector<BucketRecord>> buckets = {{record(3, 1, 9), record(4, 10, 12)},
                                                    {record(3, 5, 9), record(4, 11, 12)}};
  book_waits(steps, buckets, std::vector<ClockFit>(2));
  CHECK(steps[0][0].all_reduce_wait == Approx(4));
  CHECK(steps[0][1].all_reduce_wait == Approx(1));
}

TEST_CASE("waits are given on one clock", "[train]") {
  // Rank 1's clock is 100 s late at first and 101 s at the end: it loses 1 s in 10.
  const ClockFit clock{.first_time = 0, .first = {100, 0.1}, .last_time = 10, .last = {101, 0.2}};
  CHECK(clock.to_rank0(0) == Approx(100));
  CHECK(clock.to_rank0(5) == Approx(105.5));
  CHECK(clock.to_rank0(20) == Approx(122));
  CHECK(clock.error() == 0.2);
  auto steps = steps_of(2, 1);
  std::vector<std::vector<BucketRecord>> buckets = {{record(1, 103, 110)}, {record(1, 5, 12)}};
  book_waits(steps, buckets, {ClockFit{}, clock});
  CHECK(buckets[0][0].wait == Approx(2.5));
  CHECK(buckets[1][0].wait == 0);
}

constexpr double kNan = DeviceSample::kUnknown;

/// Counts its samples, and lets a test wait for them.
class Counting final : public DeviceMonitor {
 public:
  double energy_joules() override { return 7; }
  DeviceSample sample() override {
    const std::lock_guard lock(mutex_);
    ++count_;
    grown_.notify_all();
    return {.power_watts = double(count_)};
  }
  void await(int count) {
    std::unique_lock lock(mutex_);
    grown_.wait(lock, [&] { return count_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable grown_;
  int count_ = 0;
};

TEST_CASE("device watch: samples from the beginning on, each handed out once", "[device]") {
  Counting monitor;
  const Stopwatch clock;
  DeviceWatch watch(monitor, clock, 1e-3);
  CHECK(watch.energy_joules() == 7);
  monitor.await(3);
  double power = 0;
  double seconds = 0;
  for (int turn = 0; turn < 2; ++turn) {
    monitor.await(int(power) + 2);
    for (const DeviceSample& sample : watch.take()) {
      CHECK(sample.power_watts == power + 1);
      CHECK(sample.seconds >= seconds);
      CHECK(std::isnan(sample.utilization));
      power = sample.power_watts;
      seconds = sample.seconds;
    }
    CHECK(power >= 1);
  }
}

/// Ranks 0 and 1 share a GPU, rank 2 has its own.
RunRecord watched_run() {
  RunRecord run = test::sample_run(3, 3);
  for (std::size_t rank = 0; rank < 3; ++rank) run.ranks[rank].uuid = rank < 2 ? "GPU-a" : "GPU-b";
  for (EpochRecord& epoch : run.epochs) {
    epoch.rank_energy = {{100, 40}, {100, 0}, {48, 12}};  // two hosts, each read by one rank
    epoch.energy = total_energy(epoch.rank_energy, run.ranks);
    epoch.energy.images = 296;
  }
  run.gpu_samples = {{{.seconds = 1, .utilization = 0.5, .power_watts = 200}},
                     {},
                     {{.seconds = 2, .utilization = 0.9, .power_watts = 400}}};
  return run;
}

TEST_CASE("device use: the energy of a shared GPU counts once", "[device]") {
  RunRecord run = watched_run();
  CHECK(run.epochs[0].energy.total() == 148 + 52);
  std::vector<Energy> energy = run.epochs[0].rank_energy;
  energy[2].hosts = kNan;  // of one host, so of all
  CHECK(total_energy(energy, run.ranks).total() == 148);
  CHECK(total_energy(energy, run.ranks).includes() == std::string("GPUs"));
  energy[2].gpus = kNan;
  CHECK(std::isnan(total_energy(energy, run.ranks).total()));
}

TEST_CASE("device use: the table shows what was measured", "[device]") {
  const std::string text = result_table(watched_run());
  CHECK_THAT(text, Contains("utilisation, %  70.0  50.0  90.0"));
  CHECK_THAT(text, Contains("power, W         300   200   400"));
  CHECK_THAT(text, !Contains("temperature"));
  CHECK_THAT(text, Contains("600 J = 0.1667 Wh of GPUs and hosts, 0.676 J per image"));
  CHECK_THAT(result_table(test::sample_run()), !Contains("GPUs\n"));
}

TEST_CASE("device use: run.json has columns, and null for what was not measured", "[device]") {
  RunRecord run = watched_run();
  run.seconds_to_target = 3;
  const std::string text = to_json(run);
  CHECK_THAT(text, Contains("\"images_per_joule\": 2.0"));
  CHECK_THAT(text, Contains("\"joules_to_target\": 600.0"));
  CHECK_THAT(text, Contains("\"temperature_celsius\": [\n        null\n"));
  CHECK_THAT(text, Contains("\"gpu_samples\": [\n    {\n      \"seconds\": ["));
}

TEST_CASE("memory: a shortage names what is missing, where, and the remedies", "[memory]") {
  MemoryShortage shortage{512, 153'000'000'000, 139'000'000'000, 2, 464, "rank 3 (node17)", ""};
  CHECK(shortage_text(shortage, {"--on-oom halve", "--precision bf16"}) ==
        "out of memory: training with 512 images per rank and micro-batch takes 153 GB, and rank 3 "
        "(node17) has 139 GB free (a share of 2 ranks); the largest batch that fits is 464: give "
        "--batch-per-rank 464 or --batch-per-rank max, or --on-oom halve, or --precision bf16");
  shortage = {1, 5'000'000, 4'000'000, 1, 0, "rank 0 (a)", ""};
  CHECK(shortage_text(shortage, {"--precision bf16"}) ==
        "out of memory: training with 1 image per rank and micro-batch takes 5.00 MB, and rank 0 "
        "(a) has 4.00 MB free; not even one image fits: give --precision bf16");
  shortage.limit = "ulimit -v";
  CHECK_THAT(shortage_text(shortage, {}),
             Contains("4.00 MB free below the limit of the process (ulimit -v); not even"));
  shortage.limit = "";
  shortage.batch_is_fixed = true;
  CHECK_THAT(shortage_text(shortage, {"--recompute bn"}),
             Catch::EndsWith("4.00 MB free; the global batch is that of the run which is "
                             "resumed: resume on more ranks, or --recompute bn"));
}

}  // namespace
}  // namespace rueda
