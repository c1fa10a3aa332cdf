#include "base/start_thread.hpp"

#include <system_error>

#include <catch2/catch.hpp>

namespace rueda::test {
namespace {

TEST_CASE("where no thread is left, the message says what to raise", "[threads]") {
  const auto fails = []() -> std::jthread {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  };
  CHECK_THROWS_WITH(start_thread("signals", fails),
                    Catch::Contains("no thread can be started for signals: ") &&
                        Catch::Contains("ulimit -u") && Catch::Contains("ulimit -v") &&
                        Catch::Contains("pids limit"));
  CHECK_THROWS_AS(start_thread("signals", fails), RunError);
  bool ran = false;
  make_thread("a test", [&] { ran = true; }).join();
  CHECK(ran);
}

}  // namespace
}  // namespace rueda::test
