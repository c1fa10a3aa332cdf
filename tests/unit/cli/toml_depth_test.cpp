#include "cli/toml_depth.hpp"

#include <string>

#include <catch2/catch.hpp>

using rueda::line_nested_deeper;

namespace {

std::string chain_of(const std::string& piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

}  // namespace

TEST_CASE("what TOML nests is counted in each of its forms", "[toml]") {
  constexpr std::size_t kMost = 32;
  for (const std::size_t levels : {kMost, kMost + 1, std::size_t{400'000}}) {
    const bool deep = levels > kMost;
    CAPTURE(levels);
    CHECK(line_nested_deeper("x = 1\n" + chain_of("a.", levels) + "a = 1", kMost) ==
          (deep ? 2 : 0));
    CHECK(line_nested_deeper(chain_of("a . ", levels) + "a = 1", kMost) == (deep ? 1 : 0));
    CHECK(line_nested_deeper(chain_of("'a'.", levels) + "a = 1", kMost) == (deep ? 1 : 0));
    CHECK(line_nested_deeper("[" + chain_of("a.", levels - 1) + "a]", kMost) == (deep ? 1 : 0));
    CHECK(line_nested_deeper("a = " + chain_of("[", levels), kMost) == (deep ? 1 : 0));
    CHECK(line_nested_deeper("a = [\n" + chain_of("[\n", levels - 1), kMost) ==
          (deep ? kMost + 1 : 0));
    CHECK(line_nested_deeper("a = " + chain_of("{a=", levels), kMost) == (deep ? 1 : 0));
  }
  CHECK(line_nested_deeper("[[" + chain_of("a.", 40) + "a]]", kMost) == 1);
}

TEST_CASE("strings, comments and lists of numbers do not nest", "[toml]") {
  const std::string dots = chain_of("[.", 100);
  for (const std::string& text :
       {"a = \"" + dots + "\"", "a = '" + dots + "'", "a = \"\"\"\n" + dots + "\"\"\"",
        "a = '''" + dots + "'''", "# " + dots, "a = \"\\\"" + dots + "\"",
        "a = [" + chain_of("0.5, ", 100) + "]", chain_of("a.b = 1.5\n", 100)}) {
    CAPTURE(text);
    CHECK(line_nested_deeper(text, 3) == 0);
  }
  CHECK(line_nested_deeper("a = '''x\n'''\nb.b.b.b.b = 1", 3) == 3);
}
