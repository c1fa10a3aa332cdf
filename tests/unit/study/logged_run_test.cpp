#include "study/logged_run.hpp"

#include <cmath>

#include <catch2/catch.hpp>

namespace {

void check(const rueda::Estimate& seen, double value, double low, double high) {
  CHECK(seen.value == Approx(value).margin(1e-12));
  CHECK(seen.low == Approx(low).margin(1e-12));
  CHECK(seen.high == Approx(high).margin(1e-12));
}

}  // namespace

TEST_CASE("a printed duration is what rounding to its last digit leaves", "[logged_run]") {
  check(rueda::printed_duration("14s").value(), 14, 13.5, 14.5);
  check(rueda::printed_duration("544ms").value(), 0.544, 0.5435, 0.5445);
  check(rueda::printed_duration("73us").value(), 73e-6, 72.5e-6, 73.5e-6);
  check(rueda::printed_duration("23.44s").value(), 23.44, 23.435, 23.445);
  check(rueda::printed_duration("8.715 s").value(), 8.715, 8.7145, 8.7155);
  check(rueda::printed_duration("0s").value(), 0, 0, 0.5);
  for (const char* text : {"", "s", "14", "14m", "1.2.3s", "-3s", "14s ", "1e3s", "99999999999s"}) {
    INFO(text);
    CHECK_FALSE(rueda::printed_duration(text));
  }
}

TEST_CASE("two ranges leave what both allow", "[logged_run]") {
  check(rueda::narrowed({14, 13.5, 14.5}, {13.6, 13.5875, 13.6125}), 13.6, 13.5875, 13.6125);
  check(rueda::narrowed({5, 4.5, 5.5}, {5.6, 5.3, 5.9}), 5.5, 5.3, 5.5);
  check(rueda::narrowed({5, 4.5, 5.5}, {4.45, 4.4, 4.51}), 4.5, 4.5, 4.51);
  check(rueda::narrowed({5, 4.5, 5.5}, {7, 6, 8}), 5, 4.5, 5.5);
}

TEST_CASE("images of an epoch by its steps", "[logged_run]") {
  CHECK(rueda::images_of_epoch(50000, 7, 8192) == 50000);     // 6 x 8192 + 848
  CHECK(rueda::images_of_epoch(50000, 6, 8192) == 6 * 8192);  // the remainder left out
  CHECK(rueda::images_of_epoch(40960, 5, 8192) == 40960);
  CHECK(std::isnan(rueda::images_of_epoch(50000, 8, 8192)));
  CHECK(std::isnan(rueda::images_of_epoch(50000, 5, 8192)));
  CHECK(rueda::images_of_epoch(50000, 0, 8192) == 50000);
  CHECK(rueda::images_of_epoch(50000, 7, 0) == 50000);
}
