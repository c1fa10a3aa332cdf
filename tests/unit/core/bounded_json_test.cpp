#include "core/bounded_json.hpp"

#include <string>

#include <catch2/catch.hpp>

#include "rueda/core/error.hpp"

using namespace rueda;
using Catch::Contains;

namespace {

const InputFile kFile{"run.json", "run.json", "give another"};

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

/// {"k0":0,"k1":0,...}
std::string object_of(std::size_t keys) {
  std::string text = "{";
  for (std::size_t i = 0; i < keys; ++i)
    text += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":0";
  return text + "}";
}

}  // namespace

TEST_CASE("JSON within the limits is parsed in order", "[json]") {
  CHECK(parse_json(R"({"b":[1,-2,0.5,true,null],"a":"x"})", kFile).dump() ==
        R"({"b":[1,-2,0.5,true,null],"a":"x"})");
  CHECK(fault_of_json("7").empty());
}

TEST_CASE("what is no JSON is refused with its byte", "[json]") {
  CHECK_THROWS_WITH(parse_json("{\"a\":1,}", kFile),
                    "run.json: no JSON from byte 8 on; give another");
  CHECK_THROWS_AS(parse_json("", kFile), InputError);
  CHECK_THROWS_WITH(parse_json("[1]x"), Contains("no JSON from byte 4"));
  CHECK_THAT(fault_of_json("[\"\xff\"]"), Contains("no JSON"));
  CHECK_THAT(fault_of_json(std::string("[1]\0[", 5)), Contains("no JSON"));
  CHECK_THAT(fault_of_json("{\"a\":1e999}"), Contains("is out of range"));
}

TEST_CASE("a whole number is one that a double holds too", "[json]") {
  const auto number = [](const char* text) {
    return whole_number(parse_json(std::string("{\"n\":") + text + "}", kFile), "n");
  };
  CHECK(number("0") == 0);
  CHECK(number("9007199254740992") == std::size_t{1} << 53);
  for (const char* text : {"9007199254740993", "-1", "1.0", "1e3", "\"1\"", "null", "true"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(number(text), "'n' is not a whole number");
  }
}

TEST_CASE("JSON that nests deeply is refused, however deeply", "[json]") {
  CHECK(fault_of_json(repeated("[", 32) + repeated("]", 32)).empty());
  CHECK_THAT(fault_of_json(repeated("[", 33) + repeated("]", 33)), Contains("more than 32 levels"));
  CHECK_THAT(fault_of_json(repeated("[", 5'000'000)), Contains("more than 32 levels"));
  CHECK_THAT(fault_of_json(repeated("{\"a\":", 1'000'000)), Contains("more than 32 levels"));
}

TEST_CASE("JSON of too many values or keys is refused", "[json]") {
  const JsonLimits few{.most_values = 10, .most_depth = 3, .most_keys = 4};
  CHECK(fault_of_json("[1,2,3,4,5,6,7,8,9]", few).empty());
  CHECK_THAT(fault_of_json("[1,2,3,4,5,6,7,8,9,10]", few), Contains("more than 10 values"));
  CHECK(fault_of_json(object_of(4), few).empty());
  CHECK_THAT(fault_of_json(object_of(5), few), Contains("more than 4 keys in one object"));
  CHECK_THAT(fault_of_json(object_of(100'000)), Contains("more than 256 keys"));
  const JsonLimits two{.most_values = 100, .most_depth = 4, .most_keys = 2};  // of each object
  CHECK(fault_of_json(R"({"a":{"a":1,"b":2},"b":[{"a":1},{"b":1}]})", two).empty());
}
