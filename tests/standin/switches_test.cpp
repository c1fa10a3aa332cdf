#include <cstdlib>
#include <string>

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "tests/support/backend_under_test.hpp"

namespace rueda::test {
namespace {

// A rank that met it at its first launch would fail in the middle of a step.
TEST_CASE("a backend is not made with a switch that is neither on nor off", "[backend]") {
  const std::string name = GENERATE("RUEDA_CUDA_GRAPHS", "RUEDA_CUDA_PDL");
  ::setenv(name.c_str(), "0", 1);
  CHECK_THROWS_AS(open_backend_under_test(), InputError);
  for (const char* value : {"on", "off"}) {
    ::setenv(name.c_str(), value, 1);
    CHECK_NOTHROW(open_backend_under_test());
  }
  ::unsetenv(name.c_str());
}

}  // namespace
}  // namespace rueda::test
