#include "mpi/session/watchdog.hpp"

#include <array>
#include <chrono>
#include <string>
#include <thread>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

namespace rueda::test {
namespace {

using Catch::Contains;

/// What a process in which `work` is done under a watchdog says, and how it ends.
struct Ended {
  std::string text;
  int code = 0;
};

template <typename Work>
Ended watched(double seconds, const Work& work) {
  std::array<int, 2> pipe_ends{};
  REQUIRE(pipe(pipe_ends.data()) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(pipe_ends[1], STDERR_FILENO);
    const Computing nothing(nullptr);  // ranks that were threads in other cases leave theirs behind
    ReduceJournal journal;
    const Watchdog dog({.rank = 3, .host = "h0", .journal = journal, .seconds = seconds});
    work(journal);
    _exit(0);
  }
  close(pipe_ends[1]);
  Ended ended;
  std::array<char, 512> piece{};
  for (ssize_t count = 0; (count = read(pipe_ends[0], piece.data(), piece.size())) > 0;)
    ended.text.append(piece.data(), std::size_t(count));
  close(pipe_ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  ended.code = WEXITSTATUS(status);
  return ended;
}

void rest(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

TEST_CASE("watchdog: a rank alone that computes without an end is a stall", "[watchdog]") {
  const Ended ended = watched(0.3, [](auto&) {
    const Computing computing("a training step");
    Computing::reaches("layer1.0.conv1");
    rest(60'000);
  });
  CHECK(ended.code == 1);
  CHECK_THAT(ended.text,
             Contains("rueda: stuck outside the ring. rank 3 on h0: in a training step for 0 s: "
                      "nothing of it was done since layer1.0.conv1 began. ") &&
                 Contains("--stall-seconds"));
}

TEST_CASE("watchdog: what goes on is no stall, however long it takes", "[watchdog]") {
  constexpr int kTimes = 12;
  constexpr int kApart = 250;
  const auto slow = [&](const auto& go_on) {
    return watched(1, [&](ReduceJournal& journal) {
      const Computing computing("a training step");
      for (int i = 0; i < kTimes; ++i, rest(kApart)) go_on(journal);
    });
  };
  for (const Ended& ended : {slow([](auto&) { Computing::reaches("a layer"); }),
                             slow([](auto&) { Computing::goes_on(); }), slow([](auto& journal) {
                               const auto entry = journal.transfer("reduce-scatter", 0, 1, 2);
                             })}) {
    CHECK(ended.code == 0);
    CHECK(ended.text == "");
  }
}

TEST_CASE("watchdog: between two steps nothing is computed", "[watchdog]") {
  const Ended ended = watched(1, [](auto&) {  // longer than a busy machine leaves a process aside
    { const Computing computing("a training step"); }
    rest(2500);
  });
  CHECK(ended.code == 0);
  CHECK(ended.text == "");
}

}  // namespace
}  // namespace rueda::test
