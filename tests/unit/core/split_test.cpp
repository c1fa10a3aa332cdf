#include "rueda/core/split.hpp"

#include <cstdint>
#include <limits>

#include <catch2/catch.hpp>

using rueda::even_split;
using rueda::Range;

TEST_CASE("even_split cuts into contiguous parts that differ by at most one", "[split]") {
  for (std::size_t parts = 1; parts <= 9; ++parts) {
    for (std::size_t total = 0; total <= 40; ++total) {
      std::size_t end = 0;
      for (std::size_t i = 0; i < parts; ++i) {
        const auto part = even_split(total, parts, i);
        CAPTURE(parts, total, i);
        CHECK(part.begin == end);
        CHECK(part.size() >= total / parts);
        CHECK(part.size() <= total / parts + 1);
        if (i > 0) CHECK(part.size() <= even_split(total, parts, i - 1).size());
        end = part.end;
      }
      CHECK(end == total);
    }
  }
}

TEST_CASE("even_split is exact where a product would overflow", "[split]") {
  constexpr std::size_t total = std::numeric_limits<std::size_t>::max();
  CHECK(even_split(total, 7, 0).begin == 0);
  CHECK(even_split(total, 7, 3).end == even_split(total, 7, 4).begin);
  CHECK(even_split(total, 7, 6).end == total);
}

TEST_CASE("even_split by hand", "[split]") {
  const Range parts[] = {{0, 3}, {3, 6}, {6, 8}, {8, 10}};
  for (std::size_t i = 0; i < 4; ++i) CHECK(even_split(10, 4, i) == parts[i]);
  CHECK(even_split(2, 3, 2).empty());
}
