#include <catch2/catch.hpp>

#include "commands/bench/bench.hpp"
#include "rueda/core/error.hpp"

using Catch::Matchers::Contains;
using rueda::Algorithm;
using rueda::InputError;
using namespace rueda::bench;

TEST_CASE("sizes are bytes with decimal or binary units, ascending, each once", "[bench]") {
  REQUIRE(parse_sizes("1M,4,64k,16Ki,2G,1Mi,4,1Gi") == std::vector<Size>{{4, ""},
                                                                         {16'384, ""},
                                                                         {64'000, ""},
                                                                         {1'000'000, ""},
                                                                         {1'048'576, ""},
                                                                         {1'073'741'824, ""},
                                                                         {2'000'000'000, ""}});
}

TEST_CASE("the name of a network is the size of what its training sums", "[bench]") {
  // ResNet-18: 11,173,962 parameters, 9,600 statistics, 5 step sums; counted elsewhere.
  REQUIRE(parse_sizes("resnet18") == std::vector<Size>{{(11'173'962 + 9'600 + 5) * 4, "resnet18"}});
}

TEST_CASE("what is no size is refused by its name", "[bench]") {
  for (const std::string words : {"", "4,", ",4", "k", "4e6", "-4", "4 ", "4kb", "4K", "resnet19",
                                  "99999999999999999999", "2000G", "0x4"}) {
    INFO(words);
    REQUIRE_THROWS_WITH(parse_sizes(words), Contains("give a number of bytes"));
  }
  for (const std::string words : {"0", "3", "4,7"}) {
    REQUIRE_THROWS_WITH(parse_sizes(words), Contains("a multiple of 4 bytes"));
  }
}

TEST_CASE("segments are KiB", "[bench]") {
  REQUIRE(parse_segments("64,0,1,64") == std::vector<std::size_t>{0, 1024, 65'536});
  for (const std::string words : {"", "64k", "x", "1048577", "-1"}) {
    INFO(words);
    REQUIRE_THROWS_AS(parse_segments(words), InputError);
  }
}

TEST_CASE("algorithms are named as train names them, and the fixed order", "[bench]") {
  const Entries some = parse_entries("mpi,ring,fixed,mpi");
  REQUIRE(some.size() == 3);  // each once
  REQUIRE_FALSE(some.all);
  REQUIRE(some[0].algorithm == Algorithm::mpi);
  REQUIRE(some[1].name == "ring");
  REQUIRE(some[1].order == rueda::ReduceOrder::ring);
  REQUIRE(some[2].name == "fixed");
  REQUIRE(some[2].algorithm == Algorithm::ring);
  REQUIRE(some[2].order == rueda::ReduceOrder::fixed);
  const Entries every = parse_entries("all");
  REQUIRE(every.all);
  REQUIRE(every.size() == std::size(rueda::kAlgorithms) + 1);
  REQUIRE_THROWS_WITH(parse_entries("ring,rong"), Contains("'rong'") && Contains("hierarchical"));
}
