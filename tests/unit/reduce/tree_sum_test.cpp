#include <catch2/catch.hpp>

#include "rueda/reduce/reduce_loops.hpp"
#include "tests/support/tree_sums.hpp"

namespace rueda::test {

TEST_CASE("sums in one pass have the bits of the tree, in every target", "[tree]") {
  for (const int count : {1, 2, 3, 4, 5, 7, 8, 15}) {
    for (const std::size_t length : {0U, 1U, 1023U, 1024U, 1025U, 3000U}) {
      std::vector<std::vector<float>> arrays;
      std::vector<const float*> from;
      std::vector<float*> to;
      for (int r = 0; r < count; ++r) arrays.push_back(filled<rough_value>(r, length));
      for (auto& array : arrays) {
        from.push_back(array.data());
        to.push_back(array.data());
      }
      std::vector<float> elsewhere(length);
      to.push_back(elsewhere.data());
      tree_sum(from, to, length);
      CAPTURE(count, length);
      const auto expected = serial_trees(count, length);
      CHECK(elsewhere == expected);
      for (const auto& array : arrays) CHECK(array == expected);
    }
  }
}

}  // namespace rueda::test
