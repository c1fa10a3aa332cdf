// What ranks find out before there is a run, and refuse alike, so that one of them tells it and
// none waits. Ranks are threads; tests/cli starts jobs for what only processes can have.
#include <atomic>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "data/cifar10.hpp"
#include "run/resume/taken_options.hpp"
#include "run/train_setup.hpp"
#include "run/wiring/timed_setup.hpp"
#include "tests/support/data_files.hpp"
#include "tests/support/thread_group.hpp"

namespace rueda::test {
namespace {

using Catch::Contains;
using Work = std::function<void(RankGroup&)>;

/// What all ranks refuse; empty: nothing. Fails where they do not refuse alike and as agreed.
std::string refusal_by(int ranks, const Work& work) {
  std::vector<std::string> said{std::size_t(ranks)};
  ThreadGroup::run(ranks, [&](ThreadGroup& group) {
    try {
      work(group);
    } catch (const InputError& error) {
      said[std::size_t(group.rank())] = is_agreed(error) ? error.what() : "not agreed";
    }
  });
  CHECK(std::set(said.begin(), said.end()).size() == 1);
  CHECK(said.front() != "not agreed");
  return said.front();
}

/// How a message names the one rank that found something.
std::string named(int rank) { return "rank " + std::to_string(rank) + " (" + host_name() + ")"; }

constexpr int kSizes[] = {1, 2, 3, 4, 7};

/// The folders of data sets: one that is whole, another one, and one that is cut.
struct DataSets {
  DataSets() {
    for (const auto& [name, images] : {std::pair("whole", 20), {"other", 19}, {"cut", 20}})
      write_cifar10(numbered_dataset(std::size_t(images), 4), at(name), Cifar10Format::binary);
    std::filesystem::resize_file(at("cut") / "data_batch_3.bin", 5000);
  }
  std::filesystem::path at(const std::string& name) const { return scratch.path() / name; }

  /// Of the last rank, `name`; of the others, `others`.
  std::string refusal(int ranks, const std::string& others, const std::string& name) const {
    return refusal_by(ranks, [&](RankGroup& group) {
      TrainConfig config;
      config.data.path = at(group.rank() == group.size() - 1 ? name : others);
      agree_on_data(group, config);
    });
  }

  ScratchDirectory scratch;
};

TEST_CASE("ranks refuse data that one or all of them cannot read", "[refusals]") {
  const DataSets sets;
  for (const int ranks : kSizes) {
    CAPTURE(ranks);
    CHECK(sets.refusal(ranks, "whole", "whole").empty());
    CHECK_THAT(sets.refusal(ranks, "none", "none"), Contains("none") && !Contains(named(0)));
    CHECK_THAT(sets.refusal(ranks, "cut", "cut"), Contains("data_batch_3.bin"));
    const std::string one = sets.refusal(ranks, "whole", "cut");
    CHECK_THAT(one, Contains("data_batch_3.bin"));
    if (ranks > 1) CHECK_THAT(one, Contains(named(ranks - 1)));
  }
}

TEST_CASE("ranks refuse data that differ", "[refusals]") {
  const DataSets sets;
  for (const int ranks : {2, 3, 4, 7})
    CHECK_THAT(
        sets.refusal(ranks, "whole", "other"),
        Contains("the data set differs between ranks: " + named(0) + " has 'training images: 20") &&
            Contains(named(ranks - 1) + " has 'training images: 19"));
}

TEST_CASE("ranks refuse compute times that are not for their number or not there", "[refusals]") {
  TrainConfig config;
  config.device.backend = BackendChoice::timed;
  const Work choose = [&config](RankGroup& group) { choose_compute(group, config, 1000); };
  config.compute.ms = 40;
  config.compute.factors = {1, 2, 3};
  CHECK(refusal_by(3, choose).empty());
  for (const int ranks : {1, 2, 4, 7})
    CHECK_THAT(refusal_by(ranks, choose),
               Contains("3 numbers in factors= for " + std::to_string(ranks) + " rank"));
  config.compute = {};
  config.compute.from = "no.json";
  for (const int ranks : kSizes)
    CHECK_THAT(refusal_by(ranks, choose),
               Contains("--compute from=no.json") && Contains("cannot be opened"));
}

TEST_CASE("rank 0 alone looks for a checkpoint, and all ranks refuse that there is none",
          "[refusals]") {
  for (const int ranks : kSizes) {
    std::atomic<int> looks = 0;
    const std::string said = refusal_by(ranks, [&looks](RankGroup& group) {
      TrainConfig config;
      config.checkpoints.resume = "/none";
      settle_on_rank_0(group, config, [&] {
        ++looks;
        complete_by_checkpoint(config);
      });
    });
    CHECK_THAT(said, Contains("--resume /none: there is no checkpoint"));
    CHECK(looks == 1);
  }
}

}  // namespace
}  // namespace rueda::test
