#include <catch2/catch.hpp>

#include "run/console.hpp"

using namespace rueda;
using Lines = std::vector<std::string>;

TEST_CASE("remarks: the data's, then each rank's, equal neighbours once") {
  CHECK(remark_lines({}, {"", ""}, {}).empty());
  CHECK(remark_lines({"d"}, {"", "a", "a", "b", "", "a"}, {"r"}) ==
        Lines{"d", "rank 1: a", "rank 3: b", "rank 5: a", "r"});
  CHECK(remark_lines({}, {"a", "a"}, {}) == Lines{"rank 0: a"});
}
