#include "launch/thread_team.hpp"

#include <cstdlib>
#include <string>

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "cpu/cpu_backend.hpp"
#include "launch/launcher.hpp"

namespace rueda::test {
namespace {

using Catch::Contains;

/// The tests' build runs this one under the variables of OpenMP that give a region fewer threads.
TEST_CASE("a team has as many threads as are planned", "[cpu][team]") {
  const std::string limit = variable_text(environment_variable, "OMP_THREAD_LIMIT");
  const int got = settle_team(3);
  CHECK(got == (limit.empty() ? 3 : std::stoi(limit)));
  CHECK(settle_team(got) == got);
  CHECK_NOTHROW(cpu::make_cpu_backend({.threads = got}));
  const std::string shortage = team_shortage(3, got, environment_variable);
  if (limit.empty()) {
    CHECK(shortage == "");
  } else {
    CHECK_THAT(shortage, Contains("1 of 3 threads, because OMP_THREAD_LIMIT=1 is set: unset it"));
    CHECK_THROWS_AS(cpu::make_cpu_backend({.threads = 3}), InputError);
    CHECK_THROWS_WITH(cpu::make_cpu_backend({.threads = 3}),
                      Contains("OMP_THREAD_LIMIT=1") && Contains("--threads 1"));
  }
  settle_team(1);
}

TEST_CASE("a smaller team is told with its variable, or without", "[team]") {
  const Environment none = [](const char*) -> const char* { return nullptr; };
  const Environment intel = [](const char* name) {
    return std::string(name) == "KMP_DEVICE_THREAD_LIMIT" ? "2\n" : nullptr;
  };
  CHECK(team_shortage(4, 4, intel) == "");
  CHECK_THAT(team_shortage(4, 2, intel),
             Contains("2 of 4 threads, because KMP_DEVICE_THREAD_LIMIT=2\\x0a is set"));
  CHECK_THAT(team_shortage(4, 2, none), Contains("2 of 4 threads") && !Contains("unset"));
}

}  // namespace
}  // namespace rueda::test
