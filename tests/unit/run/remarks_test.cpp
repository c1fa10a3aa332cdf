#include "run/remarks.hpp"

#include <catch2/catch.hpp>

using namespace rueda;
using Lines = std::vector<std::string>;

TEST_CASE("remarks: the data's, then each rank's, equal neighbours once") {
  CHECK(remark_lines({}, {"", ""}).empty());
  CHECK(remark_lines({"d"}, {"", "a", "a", "b", "", "a"}) ==
        Lines{"note: d", "note: rank 1: a", "note: rank 3: b", "note: rank 5: a"});
  CHECK(remark_lines({}, {"a", "a"}) == Lines{"note: rank 0: a"});
}
