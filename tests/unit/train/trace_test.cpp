#include "rueda/train/trace.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "rueda/record/run_json.hpp"
#include "tests/support/sample_run.hpp"

using namespace rueda;
using nlohmann::json;

namespace {

SteadyTime at(double seconds) {
  return SteadyTime(
      std::chrono::duration_cast<SteadyTime::duration>(std::chrono::duration<double>(seconds)));
}

std::vector<TraceSpan> one_step() {
  BucketRecord bucket;
  bucket.bucket = 1;
  bucket.ready = 10.2;
  bucket.begin = 10.3;
  bucket.end = 10.5;
  const ReduceAct act{ReduceAct::Kind::transfer, "reduce-scatter", 2, 3, 1};
  const ReduceAct add{ReduceAct::Kind::add, "reduce-scatter", 2};
  return trace_step(7, {{Phase::backward, at(10), at(10.4)}}, {bucket},
                    {{act, 1, at(10.3), at(10.35)}, {add, 1, at(10.35), at(10.36)}});
}

}  // namespace

TEST_CASE("trace: phases, buckets and ring steps of a step", "[trace]") {
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
}

TEST_CASE("trace: long names are cut", "[trace]") {
  TraceSpan span;
  span.set_name("a name of more than twenty-four letters");
  CHECK(std::string(span.name.data()) == "a name of more than twe");
}

TEST_CASE("trace: all ranks on one clock, in microseconds from the first span", "[trace]") {
  RunRecord run = test::sample_run();
  auto late = one_step();
  align(late, {.first_time = 0, .first = {0.5, 1e-6}, .last_time = 100, .last = {0.5, 1e-6}});
  run.trace = {one_step(), late};
  run.epochs[0].clocks = {{}, {.first = {0.5, 1e-6}, .last = {0.5, 2e-6}}};
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
  CHECK(spans[0].at("pid") == 0);
  CHECK(spans[0].at("ts").get<double>() == Approx(0).margin(1e-6));
  CHECK(spans[0].at("dur").get<double>() == Approx(4e5));
  CHECK(spans[4].at("pid") == 1);
  CHECK(spans[4].at("ts").get<double>() == Approx(5e5));
  CHECK(spans[2].at("tid") == 2);
  CHECK(spans[2].at("args") ==
        json::parse(R"({"step":7,"bucket":1,"ring_step":2,"to_rank":3,"from_rank":1})"));
}

TEST_CASE("phase spans: parts of a device's time lie behind one another", "[trace]") {
  PhaseTimer timer;
  timer.keep_spans(true);
  timer.begin();
  timer.enter(Phase::forward);
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(2)) {
  }
  PhaseSeconds parts{};
  parts[static_cast<std::size_t>(Phase::forward)] = 0.0005;
  parts[static_cast<std::size_t>(Phase::backward)] = 0.001;
  timer.divide(parts);
  timer.end();
  const auto spans = timer.take_spans();
  REQUIRE(spans.size() >= 3);  // perhaps an empty stretch before the forward pass
  const auto forward = std::find_if(spans.begin(), spans.end(),
                                    [](const PhaseSpan& s) { return s.phase == Phase::forward; });
  REQUIRE(forward + 1 < spans.end());
  const PhaseSpan& backward = *(forward + 1);
  CHECK(backward.phase == Phase::backward);
  CHECK(forward->end == backward.begin);
  CHECK(std::chrono::duration<double>(forward->end - forward->begin).count() == Approx(0.0005));
  CHECK(std::chrono::duration<double>(backward.end - backward.begin).count() == Approx(0.001));
}
