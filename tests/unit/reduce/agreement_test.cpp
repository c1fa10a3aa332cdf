#include <stdexcept>
#include <tuple>

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
  bool operator==(const Caught&) const = default;
};

/// Runs `body` on `size` ranks. All must have caught the same.
Caught caught_by_ranks(int size, const std::function<void(RankGroup&)>& body) {
  std::vector<Caught> all(static_cast<std::size_t>(size));
  ThreadGroup::run(size, [&](ThreadGroup& group) {
    auto& mine = all[std::size_t(group.rank())];
    try {
      body(group);
    } catch (const Error& error) {
      mine = {true, is_agreed(error), error.code(), error.what()};
    }
  });
  for (const Caught& one : all) CHECK(one == all[0]);
  CHECK(all[0].agreed == all[0].threw);
  return all[0];
}

std::string on_host(int rank) { return "rank " + std::to_string(rank) + " (" + host_name() + ")"; }

Caught together_on_three(const std::function<void(int)>& work) {
  return caught_by_ranks(3,
                         [&](RankGroup& group) { together(group, [&] { work(group.rank()); }); });
}

/// require_same on as many ranks as there are texts.
Caught require_same_of(const std::vector<std::string>& texts) {
  return caught_by_ranks(int(texts.size()), [&](RankGroup& group) {
    require_same(group, "the configuration", texts[std::size_t(group.rank())]);
  });
}

}  // namespace

TEST_CASE("together does the work and throws nothing if nobody failed", "[agreement]") {
  std::vector<int> worked(3, 0);
  CHECK_FALSE(together_on_three([&](int rank) { ++worked[std::size_t(rank)]; }).threw);
  CHECK(worked == std::vector<int>{1, 1, 1});
}

TEST_CASE("together throws what the lowest rank met, and names it unless all met it",
          "[agreement]") {
  const std::vector<std::tuple<std::function<void(int)>, ExitCode, std::string>> failures = {
      {[](int rank) {
         if (rank > 0) throw InputError("file " + std::to_string(rank) + " is damaged");
       },
       ExitCode::bad_input, on_host(1) + ": file 1 is damaged"},
      {[](int) { throw InputError("no such model"); }, ExitCode::bad_input, "no such model"},
      {[](int rank) { throw RunError("out of " + std::to_string(rank)); }, ExitCode::run_failed,
       on_host(0) + ": out of 0"},
      {[](int) { throw std::out_of_range("7 is too far"); }, ExitCode::run_failed, "7 is too far"},
      {[](int rank) {
         if (rank == 2) throw 42;
       },
       ExitCode::run_failed, on_host(2) + ": an exception that carries no message"}};
  for (const auto& [work, code, message] : failures) {
    const Caught caught = together_on_three(work);
    CHECK(caught.code == code);
    CHECK(caught.message == message);
  }
}

TEST_CASE("a group of one fails in its own words", "[agreement]") {
  ThreadGroup solo;
  CHECK_THROWS_AS(together(solo, [] { throw InputError("no"); }), InputError);
  CHECK_THROWS_WITH(together(solo, [] { throw InputError("no"); }), "no");
  CHECK_NOTHROW(require_same(solo, "the version", "1.0"));
  CHECK_FALSE(is_agreed(RunError("MPI_Sendrecv failed")));
}

TEST_CASE("require_same names rank, host and the first line that differs", "[agreement]") {
  CHECK_FALSE(require_same_of({"a\nb", "a\nb", "a\nb"}).threw);
  CHECK_FALSE(require_same_of({"", ""}).threw);
  const auto caught = require_same_of({"lr 0.1\nseed 1\n", "lr 0.1\nseed 1\n", "lr 0.1\nseed 2\n"});
  CHECK(caught.threw);
  CHECK(caught.agreed);
  CHECK(caught.code == ExitCode::bad_input);
  CHECK(caught.message == "the configuration differs between ranks: " + on_host(0) +
                              " has 'seed 1', " + on_host(2) +
                              " has 'seed 2'; give every rank the same");
  CHECK_THAT(require_same_of({"lr 0.1", "lr 0.1\nseed 2"}).message,
             Catch::Contains("has nothing, " + on_host(1) + " has 'seed 2'"));
}
