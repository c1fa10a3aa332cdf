#include "rueda/study/acceleration.hpp"

#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

#include "rueda/study/published.hpp"

using Catch::Matchers::Contains;
using rueda::Observation;
using rueda::Processor;
using rueda::Table;

namespace {

Observation run(Processor processor, double first, double steady) {
  Observation seen;
  seen.source = "rueda";
  seen.model = "resnet20";
  seen.processor = processor;
  seen.image_size = 32;
  seen.global_batch = 64;
  seen.images = 1000;
  seen.first_epoch = rueda::exactly(first);
  seen.epoch = rueda::exactly(steady);
  return seen;
}

double number(const Table& table, std::size_t row, const std::string& key) {
  const auto column = std::ranges::find(table.columns, key, &rueda::Column::key);
  REQUIRE(column != table.columns.end());
  return table.rows.at(row).at(std::size_t(column - table.columns.begin())).number();
}

std::string text(const Table& table, std::size_t row, const std::string& key) {
  const auto column = std::ranges::find(table.columns, key, &rueda::Column::key);
  return table.rows.at(row).at(std::size_t(column - table.columns.begin())).text();
}

}  // namespace

TEST_CASE("the book's CPU beside its GPU", "[acceleration]") {
  const Table table = rueda::acceleration_table(rueda::published("book"));
  const auto row =
      std::size_t(std::ranges::find_if(table.rows,
                                       [](const auto& cells) {
                                         return cells[3].text().starts_with("CPU") &&
                                                cells[4].text() == "GPU (Torres 2026, ch. 10)";
                                       }) -
                  table.rows.begin());
  REQUIRE(row < table.rows.size());
  // 220 s / (196 x 121 ms) and 215 s / (196 x 73 ms)
  CHECK(number(table, row, "first_ratio") == Approx(220 / 23.716));
  CHECK(number(table, row, "steady_ratio") == Approx(215 / 14.308));
  CHECK(number(table, row, "steady_ratio_low") == Approx(214.5 / (196 * 0.0735)));
  CHECK(number(table, row, "steady_ratio_high") == Approx(215.5 / (196 * 0.0725)));
  // 215 / 14 = 15.36, from 214.5 / 14.5 = 14.79 to 215.5 / 13.5 = 15.96
  CHECK(number(table, row, "printed_ratio") == Approx(15.357).margin(0.001));
  CHECK(number(table, row, "printed_ratio_low") == Approx(14.793).margin(0.001));
  CHECK(number(table, row, "printed_ratio_high") == Approx(15.963).margin(0.001));
  CHECK_THAT(table.notes.back(), Contains("220 s / 24 s") && Contains("15.4"));
}

TEST_CASE("the slower processor stands first", "[acceleration]") {
  const Table table =
      rueda::acceleration_table({run(Processor::gpu, 4, 2), run(Processor::cpu, 30, 20)});
  REQUIRE(table.rows.size() == 1);
  CHECK(text(table, 0, "slower") == "CPU (rueda)");
  CHECK(text(table, 0, "faster") == "GPU (rueda)");
  CHECK(number(table, 0, "first_ratio") == 7.5);
  CHECK(number(table, 0, "steady_ratio") == 10);
  CHECK(std::ranges::none_of(table.notes,
                             [](const auto& note) { return note.find("nearly") != note.npos; }));
}

TEST_CASE("only the same work on one processor each is compared", "[acceleration]") {
  const Observation cpu = run(Processor::cpu, 30, 20);
  const auto rows = [&](auto change) {
    Observation gpu = run(Processor::gpu, 4, 2);
    change(gpu);
    return rueda::acceleration_table({cpu, gpu}).rows.size();
  };
  CHECK(rows([](Observation&) {}) == 1);
  CHECK(rows([](Observation& o) { o.model = "resnet18"; }) == 0);
  CHECK(rows([](Observation& o) { o.image_size = 128; }) == 0);
  CHECK(rows([](Observation& o) { o.global_batch = 128; }) == 0);
  CHECK(rows([](Observation& o) { o.images = 2000; }) == 0);
  CHECK(rows([](Observation& o) { o.ranks = 2; }) == 0);
  CHECK(rows([](Observation& o) { o.processor = Processor::cpu; }) == 0);  // a repeat
  CHECK(rows([](Observation& o) {
          o.processor = Processor::cpu;
          o.variant = "precision bf16";
        }) == 0);
  CHECK(rows([](Observation& o) {
          o.processor = Processor::cpu;
          o.source = "log f";
        }) == 1);
}

TEST_CASE("repeats give the range of ratios", "[acceleration]") {
  const Table table =
      rueda::acceleration_table({run(Processor::cpu, 30, 20), run(Processor::cpu, 32, 24),
                                 run(Processor::cpu, 31, 20.5), run(Processor::gpu, 4, 2)});
  REQUIRE(table.rows.size() == 1);
  CHECK(number(table, 0, "steady_ratio") == 10.25);  // of the median
  CHECK(number(table, 0, "steady_ratio_low") == 10);
  CHECK(number(table, 0, "steady_ratio_high") == 12);
}
