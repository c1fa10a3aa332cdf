#include "base/text.hpp"

#include <string>

#include <catch2/catch.hpp>

#include "base/error.hpp"

using namespace rueda;
using namespace std::string_literals;
using Catch::Contains;

TEST_CASE("an error is one line, whatever it quotes", "[text]") {
  const std::string what = InputError("file a\nrueda: all fine\0, \x1b[2J\tb; remedy"s).what();
  CHECK(what == "file a\\x0arueda: all fine\\x00, \\x1b[2J\\x09b; remedy");
  CHECK(RunError("Gr\xC3\xB6\xC3\x9F"
                 "e; remedy")
            .what() ==
        "Gr\xC3\xB6\xC3\x9F"
        "e; remedy"s);
}

TEST_CASE("a long error keeps its beginning and its remedy", "[text]") {
  const std::string what = InputError("file " + std::string(100'000, 'A') + "; remedy").what();
  CHECK(what.size() < 2'100);
  CHECK_THAT(
      what, Catch::StartsWith("file AAA") && Contains("A ... A") && Catch::EndsWith("AAA; remedy"));
  CHECK(one_line(std::string(4'000, 'A')) == std::string(4'000, 'A'));
  CHECK(one_line(what) == what);
}
