#include "base/waiting.hpp"

#include <catch2/catch.hpp>
#include <sys/prctl.h>

using namespace rueda;

namespace {

/// A clock on which a look takes 10 us.
struct LookClock {
  using duration = std::chrono::microseconds;
  using time_point = std::chrono::time_point<LookClock, duration>;
  static time_point now() { return time_point(duration(10 * reads++)); }
  static inline int reads = 0;
};

/// What a wait for something that takes `needed` looks did.
struct Wait {
  explicit Wait(int needed) {
    LookClock::reads = 0;
    look_then_sleep<LookClock>([&] { return ++looks > needed; }, [&] { ++sleeps; });
  }
  int looks = 0;
  int sleeps = 0;
};

TEST_CASE("what ends soon is seen without a sleep", "[waiting]") {
  for (const int needed : {0, 1, 4}) {
    const Wait wait(needed);
    CAPTURE(needed);
    CHECK(wait.looks == needed + 1);
    CHECK(wait.sleeps == 0);
  }
}

TEST_CASE("what does not is slept for, once", "[waiting]") {
  const Wait wait(1000);
  CHECK(wait.looks == kLookTime / std::chrono::microseconds(10));
  CHECK(wait.sleeps == 1);
}

TEST_CASE("a thread that has napped wakes when it asked for", "[waiting]") {
  const auto slack = [] { return prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL); };
  int afterwards = 0;
  std::thread([&] {
    nap();
    afterwards = slack();
  }).join();
  CHECK(afterwards == 1);
  CHECK(slack() > 1);  // others keep theirs
}

}  // namespace
