#include <stdexcept>

#include <catch2/catch.hpp>

#include "rueda/reduce/rank_group.hpp"
#include "tests/support/thread_group.hpp"

using namespace rueda;
using test::ThreadGroup;

namespace {

/// What one rank caught.
struct Caught {
  bool threw = false;
  bool agreed = false;
  ExitCode code = ExitCode::done;
  std::string message;
};

/// Runs `body` on `size` ranks; what each caught, in rank order.
std::vector<Caught> caught_by_ranks(int size, const std::function<void(RankGroup&)>& body) {
  std::vector<Caught> all(static_cast<std::size_t>(size));
  ThreadGroup::run(size, [&](ThreadGroup& group) {
    auto& mine = all[static_cast<std::size_t>(group.rank())];
    try {
      body(group);
    } catch (const Error& error) {
      mine = {true, is_agreed(error), error.code(), error.what()};
    }
  });
  return all;
}

std::string on_host(int rank) { return "rank " + std::to_string(rank) + " (" + host_name() + ")"; }

/// Runs `work(rank)` through together() on three ranks; all must have caught the same.
Caught together_on_three(const std::function<void(int)>& work) {
  const auto all =
      caught_by_ranks(3, [&](RankGroup& group) { together(group, [&] { work(group.rank()); }); });
  for (const auto& one : all) {
    CHECK(one.threw == all[0].threw);
    CHECK(one.code == all[0].code);
    CHECK(one.message == all[0].message);
    CHECK(one.agreed == one.threw);
  }
  return all[0];
}

/// require_same on as many ranks as there are texts; all must have caught the same.
Caught require_same_of(const std::vector<std::string>& texts) {
  const auto all = caught_by_ranks(static_cast<int>(texts.size()), [&](RankGroup& group) {
    require_same(group, "the configuration", texts[static_cast<std::size_t>(group.rank())]);
  });
  for (const auto& one : all) CHECK(one.message == all[0].message);
  return all[0];
}

}  // namespace

TEST_CASE("together does the work and throws nothing if nobody failed", "[agreement]") {
  std::vector<int> worked(3, 0);
  CHECK_FALSE(together_on_three([&](int rank) { ++worked[static_cast<std::size_t>(rank)]; }).threw);
  CHECK(worked == std::vector<int>{1, 1, 1});
}

TEST_CASE("together names the lowest rank that failed", "[agreement]") {
  const auto caught = together_on_three([](int rank) {
    if (rank > 0) throw InputError("file " + std::to_string(rank) + " is damaged");
  });
  CHECK(caught.code == ExitCode::bad_input);
  CHECK(caught.message == on_host(1) + ": file 1 is damaged");
}

TEST_CASE("together names no rank if all failed alike", "[agreement]") {
  const auto caught = together_on_three([](int) { throw InputError("no such model"); });
  CHECK(caught.code == ExitCode::bad_input);
  CHECK(caught.message == "no such model");
}

TEST_CASE("together names the rank if all failed, but differently", "[agreement]") {
  const auto caught =
      together_on_three([](int rank) { throw RunError("out of " + std::to_string(rank)); });
  CHECK(caught.code == ExitCode::run_failed);
  CHECK(caught.message == on_host(0) + ": out of 0");
}

TEST_CASE("together turns foreign exceptions into run errors", "[agreement]") {
  CHECK(together_on_three([](int) { throw std::out_of_range("7 is too far"); }).message ==
        "7 is too far");
  const auto caught = together_on_three([](int rank) {
    if (rank == 2) throw 42;
  });
  CHECK(caught.code == ExitCode::run_failed);
  CHECK(caught.message == on_host(2) + ": an exception that carries no message");
}

TEST_CASE("a group of one fails in its own words", "[agreement]") {
  SoloGroup solo;
  CHECK_THROWS_AS(together(solo, [] { throw InputError("no"); }), InputError);
  CHECK_THROWS_WITH(together(solo, [] { throw InputError("no"); }), "no");
  CHECK_NOTHROW(require_same(solo, "the version", "1.0"));
}

TEST_CASE("an error of one rank alone is not agreed", "[agreement]") {
  CHECK_FALSE(is_agreed(RunError("MPI_Sendrecv failed")));
}

TEST_CASE("require_same passes equal texts", "[agreement]") {
  CHECK_FALSE(require_same_of({"a\nb", "a\nb", "a\nb"}).threw);
  CHECK_FALSE(require_same_of({"", ""}).threw);
}

TEST_CASE("require_same names rank, host and line", "[agreement]") {
  const auto caught = require_same_of({"lr 0.1\nseed 1\n", "lr 0.1\nseed 1\n", "lr 0.1\nseed 2\n"});
  CHECK(caught.threw);
  CHECK(caught.agreed);
  CHECK(caught.code == ExitCode::bad_input);
  CHECK_THAT(caught.message,
             Catch::Matchers::StartsWith("the configuration differs between ranks: " + on_host(0) +
                                         " has 'seed 1', " + on_host(2) + " has 'seed 2'"));
}

TEST_CASE("require_same shows a line that one text lacks", "[agreement]") {
  const auto caught = require_same_of({"lr 0.1", "lr 0.1\nseed 2"});
  CHECK_THAT(caught.message,
             Catch::Matchers::Contains("has nothing, " + on_host(1) + " has 'seed 2'"));
}
