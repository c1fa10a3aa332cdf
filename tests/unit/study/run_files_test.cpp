#include <cmath>
#include <functional>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "record/aggregation.hpp"
#include "record/run_fields.hpp"
#include "record/run_json.hpp"
#include "study/study.hpp"
#include "tests/support/data_files.hpp"
#include "tests/support/sample_run.hpp"

using namespace rueda;
using Catch::Contains;
using nlohmann::ordered_json;

namespace {

const std::string kRefused =
    R"({"schema": "rueda-attempt", "schema_version": 1, "model": "resnet18", "ranks": 2,
        "batch_per_rank": 512, "global_batch": null, "exit_code": 2, "message": "no memory"})";

std::string sample_text() { return to_json(test::sample_run()); }

ordered_json sample_json() { return ordered_json::parse(sample_text()); }

RunResult read(const std::string& text) {
  const test::ScratchDirectory folder;
  return read_run(folder.write("run.json", text));
}

std::string refusal_of(const std::string& text) {
  return test::refusal([&] { read(text); });
}

RunResult read(const ordered_json& json) { return read(json.dump()); }

}  // namespace

TEST_CASE("a run.json is read as it was written", "[study]") {
  const RunResult run = read(to_json(test::sample_run(4, 2)));
  CHECK(run.world_size() == 4);
  CHECK(run.hosts() == 2);
  CHECK(model_of(run) == "resnet20");
  CHECK(run.precision == "fp32");
  CHECK(run.train_images == 296);
  CHECK(run.global_batch == 128);
  CHECK(run.rank_batches == std::vector<std::size_t>{32, 32, 32, 32});
  CHECK(run.options.at("model") == "\"resnet20\"");
  CHECK(run.options.at("lr") == "0.1");
  REQUIRE(run.epochs.size() == 3);
  CHECK(run.epochs[2].seconds == Approx(0.86));
  CHECK(run.epochs[2].train.samples == 296);
  CHECK(run.epochs[1].test.value().accuracy == Approx(0.28));
  CHECK(run.epochs[1].ranks == 4);
  CHECK(run.startup[1].first == "data");
  CHECK(run.startup[0].second.max == Approx(0.28));
}

TEST_CASE("the steady figures of a run.json are those of its record", "[study]") {
  const RunRecord record = test::sample_run();
  const RunResult run = read(sample_text());
  const std::span<const EpochRecord> steady(&record.epochs[1], 2);
  const StepBreakdown full = break_down(steady, record.global_batch, StepKind::full);
  CHECK(run.summary.full_step.steps == full.steps);
  CHECK(run.summary.full_step.step.mean == Approx(full.step.mean));
  for (std::size_t p = 0; p < kPhases; ++p)
    CHECK(run.summary.full_step.phases[p].mean == Approx(full.phases[p].mean));
  CHECK(run.summary.full_step.slowest.median == Approx(full.slowest.median));
  CHECK(run.summary.all_steps.bytes == 1'084'400);
  const StepBreakdown all = break_down(steady, record.global_batch, StepKind::all);
  CHECK(run.summary.all_steps.mean.busy.mean == Approx(all.busy.mean));
  CHECK(run.epochs[1].efficiency.parallel() == efficiency_seconds(steady[0]).parallel());
  CHECK(run.epochs[1].efficiency.serialisation() == efficiency_seconds(steady[0]).serialisation());
  const double wanted =
      (run.epochs[1].efficiency.useful_mean + run.epochs[2].efficiency.useful_mean) / 2;
  CHECK(sample_json()["summary"]["steady_efficiency"]["useful_mean"] == wanted);
}

TEST_CASE("what is read of an epoch and of a run is written alike", "[study]") {
  ordered_json document = sample_json();
  for (ordered_json& written : document["epochs"]) {
    EpochFigures read;
    read_epoch(JsonView(written), read);
    ordered_json again = fields_json(read, kEpochFields);
    again.update(fields_json(read.test.value(), kTestScoreFields));
    put_fields(again, read, kEpochTimeFields);
    written["energy"].erase("per_rank");
    CHECK(text_of(again) == text_of(written));
  }
  ordered_json& summary = document["summary"];
  ordered_json again = fields_json(read_summary(JsonView(summary)), kSummaryFields);
  again.erase("energy");  // which is the sum of the epochs'
  summary.erase("energy");
  CHECK(text_of(again) == text_of(summary));
}

TEST_CASE("an interrupted run is read as far as it came", "[study]") {
  RunResult run = read(sample_text());
  CHECK(steady_epochs(run).size() == 2);
  CHECK(&steady_epochs(run).front() == &run.epochs[1]);
  RunRecord record = test::sample_run();
  record.outcome = "running";
  record.epochs.resize(1);
  run = read(to_json(record));
  REQUIRE(steady_epochs(run).size() == 1);
  CHECK(&steady_epochs(run).front() == &run.epochs[0]);
  record.epochs.clear();
  run = read(to_json(record));
  CHECK(run.epochs.empty());
  CHECK(run.outcome == "running");
}

TEST_CASE("unknown fields are ignored and later ones may be missing", "[study]") {
  ordered_json document = sample_json();
  document["from_the_future"] = {{"a", 1}};
  document["summary"].erase("steady_communication");
  document["epochs"][0].erase("energy");
  document["epochs"][0].erase("efficiency");
  document["epochs"][0].erase("ranks");
  const RunResult run = read(document);
  CHECK(std::isnan(run.summary.all_steps.bytes));
  CHECK(std::isnan(run.epochs[0].energy.total()));
  CHECK(std::isnan(run.epochs[0].efficiency.parallel()));
  CHECK(run.epochs[0].of_ranks.empty());
}

TEST_CASE("other files are refused with file, place and remedy", "[study]") {
  const std::string whole = sample_text();
  CHECK_THAT(refusal_of(""), Contains("run.json: no JSON from byte 1 on; give the run.json"));
  CHECK_THAT(refusal_of(whole.substr(0, whole.size() / 2)), Contains("no JSON from byte"));
  CHECK_THAT(refusal_of("[]"), Contains("it is no run.json"));
  CHECK_THAT(refusal_of("{\"schema\": \"rueda-bench\"}"), Contains("it is no run.json"));
  CHECK_THROWS_WITH(read_run("/nowhere/run.json"),
                    Contains("/nowhere/run.json: it cannot be opened"));

  using Change = std::function<void(ordered_json&)>;
  const std::vector<std::pair<const char*, Change>> changes = {
      {"its schema_version is 2, and this rueda reads 1; read it with the rueda that wrote it",
       [](auto& j) { j["schema_version"] = 2; }},
      {"epochs[1].seconds is missing", [](auto& j) { j["epochs"][1].erase("seconds"); }},
      {"epochs[1].seconds is not a number", [](auto& j) { j["epochs"][1]["seconds"] = "2 s"; }},
      {"epochs[1].seconds is not positive", [](auto& j) { j["epochs"][1]["seconds"] = 0; }},
      {"epochs[1].samples is not a whole", [](auto& j) { j["epochs"][1]["samples"] = 2.4e19; }},
      {"batch.global is not a whole number from 1", [](auto& j) { j["batch"]["global"] = -1; }},
      {"batch.global is not a whole number from 1", [](auto& j) { j["batch"]["global"] = 1e300; }},
      {"batch.global is not a whole number from 1", [](auto& j) { j["batch"]["global"] = 0; }},
      {"batch.micro_batches is not a whole number from 1",
       [](auto& j) { j["batch"]["micro_batches"] = 0; }},
      {"batch.per_rank[0] is not a whole number from 1",
       [](auto& j) { j["batch"]["per_rank"][0] = 0; }},
      {"ranks is not a list", [](auto& j) { j["ranks"] = 3; }},
      {"does not have an entry for each rank", [](auto& j) { j["ranks"].erase(0); }},
      {"startup is not an object", [](auto& j) { j["startup"] = "soon"; }}};
  for (const auto& [message, change] : changes) {
    ordered_json document = sample_json();
    change(document);
    CHECK_THAT(refusal_of(document.dump()), Contains(message));
  }
}

TEST_CASE("a study is everything below its directory, in order, once", "[study]") {
  const test::ScratchDirectory folder;
  folder.write("runs/b/run.json", sample_text());
  folder.write("runs/a/run.json", sample_text());
  folder.write("runs/c/attempt.json", kRefused);
  folder.write("runs/a/other.json", "nonsense");
  // An attempt that ended well is known by its run alone.
  std::string well = kRefused;
  well.replace(well.find("\"exit_code\": 2"), 14, "\"exit_code\": 0");
  folder.write("runs/a/attempt.json", well);
  const Study study = load_study({folder.path(), folder.path() / "runs" / "a"});
  REQUIRE(study.runs.size() == 2);
  CHECK(study.runs[0].file.parent_path().filename() == "a");
  REQUIRE(study.failed.size() == 1);
  CHECK(study.failed[0].rank_batch == 512);
  CHECK(study.failed[0].global_batch == 0);
  CHECK(study.failed[0].message == "no memory");

  std::string none = kRefused;  // an attempt on no rank
  none.replace(none.find("\"ranks\": 2"), 10, "\"ranks\": 0");
  CHECK_THROWS_WITH(load_study({folder.write("attempt.json", none)}),
                    Contains("ranks is not a whole number from 1"));
}

TEST_CASE("one damaged run of many is left out, one that was named is refused", "[study]") {
  const test::ScratchDirectory folder;
  folder.write("a/run.json", sample_text());
  const auto damaged = folder.write("b/run.json", sample_text().substr(0, 1000));
  const Study study = load_study({folder.path()});
  CHECK(study.runs.size() == 1);
  REQUIRE(study.unreadable.size() == 1);
  CHECK(study.unreadable[0].file == damaged);
  CHECK_THROWS_AS(load_study({damaged}), InputError);
  CHECK_THROWS_AS(load_study({damaged.parent_path()}), InputError);
}

TEST_CASE("a place with nothing in it is refused", "[study]") {
  const test::ScratchDirectory folder;
  CHECK_THROWS_WITH(load_study({folder.path()}), Contains("no run.json below it"));
  CHECK_THROWS_WITH(load_study({folder.path() / "none"}), Contains("there is no such file"));
  folder.write("a/run.json", "{");
  CHECK_THROWS_WITH(load_study({folder.path()}), Contains("that can be read"));
}

TEST_CASE("directories are searched five levels deep and links are not followed", "[study]") {
  const test::ScratchDirectory folder;
  folder.write("1/2/3/4/5/run.json", sample_text());
  folder.write("1/2/3/4/5/6/run.json", sample_text());
  const test::ScratchDirectory elsewhere;
  elsewhere.write("x/run.json", sample_text());
  std::filesystem::create_directory_symlink(elsewhere.path() / "x", folder.path() / "link");
  std::filesystem::create_directory_symlink(folder.path(), folder.path() / "1" / "round");
  CHECK(load_study({folder.path()}).runs.size() == 1);
}
