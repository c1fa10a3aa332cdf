#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "record/aggregation.hpp"
#include "rueda/core/error.hpp"
#include "rueda/record/run_json.hpp"
#include "rueda/study/run_result.hpp"
#include "tests/support/sample_run.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rueda;
using Catch::Contains;
using nlohmann::ordered_json;

namespace {

ordered_json sample_json() { return ordered_json::parse(to_json(test::sample_run())); }

std::string refusal(const std::string& text) {
  const test::ScratchDirectory folder;
  try {
    read_run(folder.write("run.json", text));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

RunResult read(const ordered_json& json) {
  const test::ScratchDirectory folder;
  return read_run(folder.write("run.json", json.dump()));
}

}  // namespace

TEST_CASE("a run.json is read as it was written", "[study]") {
  const RunRecord record = test::sample_run(4, 2);
  const RunResult run = read(ordered_json::parse(to_json(record)));
  CHECK(run.world_size() == 4);
  CHECK(run.hosts == std::vector<std::string>{"node1", "node2"});
  CHECK(run.model == "resnet20");
  CHECK(run.precision == "fp32");
  CHECK(run.train_images == 296);
  CHECK(run.global_batch == 128);
  CHECK(run.rank_batches == std::vector<std::size_t>{32, 32, 32, 32});
  CHECK(run.options.at("model") == "\"resnet20\"");
  CHECK(run.options.at("lr") == "0.1");
  REQUIRE(run.epochs.size() == 3);
  CHECK(run.epochs[2].seconds == Approx(0.86));
  CHECK(run.epochs[2].images == 296);
  CHECK(run.epochs[1].val_accuracy == Approx(0.28));
  CHECK(run.epochs[1].ranks.size() == 4);
  CHECK(run.startup[1].first == "data");
  CHECK(run.startup[0].second.max == Approx(0.28));
  CHECK(std::isnan(run.timed_seconds));
}

TEST_CASE("the steady figures of a run.json are those of its record", "[study]") {
  const RunRecord record = test::sample_run();
  const RunResult run = read(sample_json());
  const std::span<const EpochRecord> steady(&record.epochs[1], 2);
  const StepBreakdown full = break_down(steady, record.global_batch, StepKind::full);
  CHECK(run.steady_full_step.count == full.steps);
  CHECK(run.steady_full_step.seconds.max == Approx(full.step.max));
  for (std::size_t p = 0; p < kPhases; ++p) {
    CHECK(run.steady_full_step.phases[p].mean == Approx(full.phases[p].mean));
  }
  CHECK(run.steady_full_step.wait.max == Approx(full.wait.max));
  CHECK(run.steady_full_step_seconds.median == Approx(full.slowest.median));
  CHECK(run.steady_communication.bytes == 1'084'400);
  CHECK(run.steady_communication.busy.max == Approx(0.045));
}

TEST_CASE("steady epochs are those after the first, or the only one", "[study]") {
  RunResult run = read(sample_json());
  CHECK(steady_epochs(run).size() == 2);
  CHECK(steady_epochs(run).front()->epoch == 2);
  run.epochs.resize(1);
  REQUIRE(steady_epochs(run).size() == 1);
  CHECK(steady_epochs(run).front()->epoch == 1);
}

TEST_CASE("an interrupted run is read as far as it came", "[study]") {
  RunRecord record = test::sample_run();
  record.outcome = "running";
  record.epochs.resize(1);
  CHECK(read(ordered_json::parse(to_json(record))).epochs.size() == 1);
  record.epochs.clear();
  const RunResult run = read(ordered_json::parse(to_json(record)));
  CHECK(run.epochs.empty());
  CHECK(run.outcome == "running");
}

TEST_CASE("unknown fields are ignored and later ones may be missing", "[study]") {
  ordered_json json = sample_json();
  json["from_the_future"] = {{"a", 1}};
  json["summary"].erase("steady_communication");
  json["epochs"][0].erase("energy");
  json["epochs"][0].erase("ranks");
  const RunResult run = read(json);
  CHECK(std::isnan(run.steady_communication.bytes));
  CHECK(std::isnan(run.epochs[0].joules));
  CHECK(run.epochs[0].ranks.empty());
}

TEST_CASE("what is no run.json is refused with file, place and remedy", "[study]") {
  const std::string whole = sample_json().dump();
  CHECK_THAT(refusal(""), Contains("run.json: no JSON from byte 1 on; give the run.json"));
  CHECK_THAT(refusal(whole.substr(0, whole.size() / 2)), Contains("no JSON from byte"));
  CHECK_THAT(refusal("[]"), Contains("it is no run.json"));
  CHECK_THAT(refusal("{\"schema\": \"rueda-bench\"}"), Contains("it is no run.json"));

  const auto without = [&](const auto& change) {
    ordered_json json = sample_json();
    change(json);
    return refusal(json.dump());
  };
  CHECK_THAT(without([](auto& j) { j["schema_version"] = 2; }),
             Contains("schema_version is not 1"));
  CHECK_THAT(without([](auto& j) { j["epochs"][1].erase("seconds"); }),
             Contains("epochs[1].seconds is missing"));
  CHECK_THAT(without([](auto& j) { j["epochs"][1]["seconds"] = "2 s"; }),
             Contains("epochs[1].seconds is not a number"));
  CHECK_THAT(without([](auto& j) { j["epochs"][1]["seconds"] = 0; }),
             Contains("epochs[1].seconds is not positive"));
  CHECK_THAT(without([](auto& j) { j["batch"]["global"] = -1; }),
             Contains("batch.global is not a whole number from 0"));
  CHECK_THAT(without([](auto& j) { j["batch"]["global"] = 1e300; }),
             Contains("batch.global is not a whole number from 0"));
  for (const char* name : {"global", "micro_batches", "steps_per_epoch"}) {
    CHECK_THAT(without([&](auto& j) { j["batch"][name] = 0; }),
               Contains(std::string("batch.") + name + " is 0"));
  }
  CHECK_THAT(without([](auto& j) { j["batch"]["per_rank"][0] = 0; }),
             Contains("batch.per_rank[0] is 0"));
  CHECK_THAT(without([](auto& j) { j["epochs"][1]["samples"] = -1; }),
             Contains("epochs[1].samples is negative"));
  CHECK_THAT(without([](auto& j) { j["ranks"] = 3; }), Contains("ranks is not a list"));
  CHECK_THAT(without([](auto& j) { j["ranks"].erase(0); }),
             Contains("does not have an entry for each rank"));
  CHECK_THAT(without([](auto& j) { j["startup"] = "soon"; }), Contains("startup is not an object"));
}

TEST_CASE("a file that is not there is refused", "[study]") {
  CHECK_THROWS_WITH(read_run("/nowhere/run.json"),
                    Contains("/nowhere/run.json: it cannot be opened"));
}
