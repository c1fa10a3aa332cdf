#include <catch2/catch.hpp>

#include "rueda/core/error.hpp"
#include "rueda/record/run_json.hpp"
#include "rueda/study/study.hpp"
#include "tests/support/sample_run.hpp"
#include "tests/support/scratch_directory.hpp"

using namespace rueda;
using Catch::Contains;

namespace {

const std::string kRefused =
    R"({"schema": "rueda-attempt", "schema_version": 1, "model": "resnet18", "ranks": 2,
        "batch_per_rank": 512, "global_batch": null, "exit_code": 2, "message": "no memory"})";

std::string sample() { return to_json(test::sample_run()); }

}  // namespace

TEST_CASE("a study is everything below its directory, in order, once", "[study]") {
  const test::ScratchDirectory folder;
  folder.write("runs/b/run.json", sample());
  folder.write("runs/a/run.json", sample());
  folder.write("runs/c/attempt.json", kRefused);
  folder.write("runs/a/other.json", "nonsense");
  const Study study = load_study({folder.path(), folder.path() / "runs" / "a"});
  REQUIRE(study.runs.size() == 2);
  CHECK(study.runs[0].file.parent_path().filename() == "a");
  REQUIRE(study.failed.size() == 1);
  CHECK(study.failed[0].rank_batch == 512);
  CHECK(study.failed[0].global_batch == 0);
  CHECK(study.failed[0].message == "no memory");
}

TEST_CASE("an attempt that ended well is told by its run alone", "[study]") {
  const test::ScratchDirectory folder;
  std::string well = kRefused;
  well.replace(well.find("\"exit_code\": 2"), 14, "\"exit_code\": 0");
  folder.write("a/attempt.json", well);
  folder.write("a/run.json", sample());
  CHECK(load_study({folder.path()}).failed.empty());
}

TEST_CASE("one damaged run of many is told, one that was named is refused", "[study]") {
  const test::ScratchDirectory folder;
  folder.write("a/run.json", sample());
  const auto damaged = folder.write("b/run.json", sample().substr(0, 1000));
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
  folder.write("1/2/3/4/5/run.json", sample());
  folder.write("1/2/3/4/5/6/run.json", sample());
  const test::ScratchDirectory elsewhere;
  elsewhere.write("x/run.json", sample());
  std::filesystem::create_directory_symlink(elsewhere.path() / "x", folder.path() / "link");
  std::filesystem::create_directory_symlink(folder.path(), folder.path() / "1" / "round");
  CHECK(load_study({folder.path()}).runs.size() == 1);
}
