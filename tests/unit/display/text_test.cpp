#include "display/text.hpp"

#include <cmath>

#include <catch2/catch.hpp>

using namespace rueda;

TEST_CASE("a noun after a number, and words of a list", "[text]") {
  CHECK(plural(1, "epoch") == "epoch");
  CHECK(plural(1.5, "epoch") == "epochs");
  CHECK(plural(0, "epoch") == "epochs");
  CHECK(plural(2, "micro-batch") == "micro-batches");
  CHECK(counted(1, "rank") == "1 rank");
  CHECK(counted(50'000, "image") == "50,000 images");
  std::string list;
  add_to_list(list, "one");
  add_to_list(list, "two");
  CHECK(list == "one, two");
  add_to_list(list, "three", "; ");
  CHECK(list == "one, two; three");
  CHECK(ranges_text({0, 1, 2, 3, 8}) == "0-3,8");
  CHECK(ranges_text({}).empty());
}

TEST_CASE("columns of a table stand below each other in any script", "[text]") {
  CHECK(columns_of("abc") == 3);
  CHECK(columns_of("日本") == 4);
  CHECK(columns_of("e\xcc\x81t\xc3\xa9") == 3);
  CHECK(columns_of("\xff") == 1);
  TextTable table = number_table({"class", "images"});
  table.add({"0 日本語", "7"});
  table.add({"1 e\xcc\x81t\xc3\xa9", "12"});
  table.add({"2 a\nb", "1"});
  CHECK(table.text() ==
        "  class     images\n"
        "  0 日本語       7\n"
        "  1 e\xcc\x81t\xc3\xa9         12\n"
        "  2 a\\x0ab       1\n");
  TextTable wide({Align::left}, 2);
  std::string name;
  for (int i = 0; i < 50; ++i) name += "猫";
  wide.add({name});
  CHECK(wide.text() == "  " + name.substr(0, std::size_t{37} * 3) + "...\n");
}

TEST_CASE("figures keep the digits that count", "[text]") {
  CHECK(seconds_text(6.4123) == "6.412");
  CHECK(seconds_text(0.00123) == "0.00123");
  CHECK(rate_text(798.4) == "798");
  CHECK(rate_text(3.2101) == "3.21");
  CHECK(metric_text(1.23454) == "1.2345");
  CHECK(metric_text(0.00021) == "2.1000e-04");
  CHECK(metric_text(0) == "0.0000");
  CHECK(metric_text(NAN) == "nan");
  CHECK(bytes_text(999.0) == "999 B");
  CHECK(bytes_text(1'090'000.0) == "1.09 MB");
}
