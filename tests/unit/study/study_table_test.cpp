#include <limits>
#include <stdexcept>

#include <catch2/catch.hpp>

#include "rueda/study/table.hpp"

using namespace rueda;

namespace {

Table sample() {
  Table table{.id = "t",
              .title = "A | title",
              .columns = {{"name", "name", Show::text},
                          {"epoch_seconds", "epoch, s", Show::seconds},
                          {"efficiency", "efficiency, %", Show::percent}},
              .rows = {},
              .notes = {"What it means."}};
  table.add({"a|b", 13.6, 0.84});
  table.add({"with \"quotes\", and comma", Cell(), std::numeric_limits<double>::quiet_NaN()});
  return table;
}

}  // namespace

TEST_CASE("a table in Markdown", "[study]") {
  CHECK(to_markdown(sample()) ==
        "### A \\| title\n\n"
        "| name | epoch, s | efficiency, % |\n"
        "|---|---:|---:|\n"
        "| a\\|b | 13.600 | 84.0 |\n"
        "| with \"quotes\", and comma | - | - |\n"
        "\n- What it means.\n");
}

TEST_CASE("a table as CSV keeps every digit and quotes as RFC 4180 says", "[study]") {
  CHECK(to_csv(sample()) ==
        "name,epoch_seconds,efficiency\r\n"
        "a|b,13.6,0.84\r\n"
        "\"with \"\"quotes\"\", and comma\",,\r\n");
}

TEST_CASE("a table on a terminal", "[study]") {
  CHECK(to_text(sample()) ==
        "A | title\n"
        "  name                      epoch, s  efficiency, %\n"
        "  a|b                         13.600           84.0\n"
        "  with \"quotes\", and comma         -              -\n"
        "  - What it means.\n");
}

TEST_CASE("numbers are shown as their column says", "[study]") {
  CHECK(cell_text(1234567.0, Show::count) == "1,234,567");
  CHECK(cell_text(0.0123, Show::seconds) == "0.0123");
  CHECK(cell_text(2e-7, Show::seconds) == "0.000");
  CHECK(cell_text(-2e-7, Show::seconds) == "0.000");
  CHECK(cell_text(0.5439, Show::millis) == "543.9");
  CHECK(cell_text(0.00543, Show::millis) == "5.43");
  CHECK(cell_text(2e-7, Show::millis) == "0.000");
  CHECK(cell_text(3571.4, Show::rate) == "3,571");
  CHECK(cell_text(45.23, Show::rate) == "45.2");
  CHECK(cell_text(1.678, Show::ratio) == "1.68");
  CHECK(cell_text(44.7e6, Show::bytes) == "44.7 MB");
  CHECK(cell_text(0.40123, Show::gigabytes) == "0.401");
  CHECK(cell_text("", Show::text) == "-");
}

TEST_CASE("a row of another length is a fault of the program", "[study]") {
  Table table = sample();
  CHECK_THROWS_AS(table.add({"one"}), std::logic_error);
}
