#include "run/run_directory.hpp"

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/file.h>

#include "base/error.hpp"
#include "run/checkpoint/checkpoint.hpp"
#include "tests/support/common.hpp"

namespace rueda::test {
namespace {

using Catch::Contains;

TEST_CASE("run directory: who waited for a claim that was withdrawn holds the new file", "[run]") {
  const ScratchDirectory scratch;
  auto first = std::make_unique<DirectoryClaim>(scratch.path());
  REQUIRE(*first);
  std::jthread refused([&first] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    first->withdraw();
  });
  const DirectoryClaim second(scratch.path());
  CHECK(second);
  CHECK(second.waited());
  CHECK_FALSE(second.found_run());  // the first one was refused
  const OpenFile third(scratch.path() / ".lock", O_RDONLY);
  REQUIRE(third.fd() >= 0);
  CHECK(::flock(third.fd(), LOCK_EX | LOCK_NB) != 0);
}

TEST_CASE("run directory: later checkpoints go together or not at all", "[run]") {
  const ScratchDirectory scratch;
  TrainConfig config;
  config.output.run_dir = scratch.path().string();
  config.output.overwrite = true;
  const fs::path all = scratch.path() / kCheckpointsName;
  for (const char* name :
       {"epoch-0001-step-00000", "epoch-0002-step-00000", "epoch-0003-step-00000"})
    scratch.write((fs::path(kCheckpointsName) / name / "manifest.json").string(), "{}");
  const fs::path notes = all / "epoch-0002-step-00000" / "notes";
  scratch.write(notes.lexically_relative(scratch.path()).string(), "mine");
  const TrainPosition from{.epochs = 1};
  const auto discard = [&] { discard_later(config, "the first", from); };
  CHECK_THAT(test::refusal(discard),
             Contains("epoch-0002-step-00000 holds notes, which is no file"));
  CHECK(list_checkpoints(all).size() == 3);
  fs::remove(notes);
  CHECK_NOTHROW(discard());
  CHECK(list_checkpoints(all) == std::vector<fs::path>{all / "epoch-0001-step-00000"});
}

}  // namespace
}  // namespace rueda::test
