#include "rueda/study/published.hpp"

#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "rueda/core/error.hpp"
#include "rueda/study/series.hpp"

using Catch::Matchers::Contains;
using rueda::Estimate;
using rueda::Observation;
using rueda::Processor;
using rueda::Series;

namespace {

/// The weak series of a model in what the book published.
Series book_series(const std::string& model) {
  for (const Series& series : rueda::make_series(rueda::published("book"))) {
    if (series.source == rueda::kBookSource && series.model == model && series.points.size() == 3)
      return series;
  }
  FAIL("the series is missing");
  return {};
}

/// In percent, rounded to one decimal as people quote it.
double percent(double share) { return std::round(share * 1000) / 10; }

double efficiency(const Series& series, std::size_t point) {
  return percent(rueda::epoch_speedup(series, series.points[point]).efficiency.value);
}

Estimate printed_efficiency(const Series& series, std::size_t point) {
  const auto& points = series.points;
  return points[0].printed_epoch / points[point].printed_epoch * (1 / double(points[point].ranks));
}

}  // namespace

TEST_CASE("the book's ResNet50V2 at 1, 2 and 4 GPUs", "[published]") {
  const Series series = book_series("resnet50v2");
  CHECK(series.scaling == rueda::Scaling::weak);
  CHECK(series.batch == 2048);
  CHECK(series.image_size == 128);
  CHECK(series.points[2].steps == 7);
  CHECK(series.points[2].first_epoch.value == 47);
  // 25 x 544, 13 x 623 and 7 x 768 ms: 13.600, 8.099 and 5.376 s
  CHECK(series.points[0].epoch.value == Approx(13.600));
  CHECK(series.points[1].epoch.value == Approx(8.099));
  CHECK(series.points[2].epoch.value == Approx(5.376));
  CHECK(efficiency(series, 1) == 84.0);
  CHECK(efficiency(series, 2) == 63.2);
  // 14, 8 and 5 s
  CHECK(percent(printed_efficiency(series, 1).value) == 87.5);
  CHECK(percent(printed_efficiency(series, 2).value) == 70.0);
  CHECK(percent(printed_efficiency(series, 2).low) == 61.4);
  CHECK(percent(printed_efficiency(series, 2).high) == 80.6);
}

TEST_CASE("the book's ResNet152V2 at 1, 2 and 4 GPUs", "[published]") {
  const Series series = book_series("resnet152v2");
  CHECK(series.batch == 1024);
  CHECK(series.points[2].first_epoch.value == 126);
  // 49 x 668, 25 x 718 and 13 x 773 ms
  CHECK(efficiency(series, 1) == 91.2);
  CHECK(efficiency(series, 2) == 81.4);
  CHECK(percent(printed_efficiency(series, 1).value) == 91.7);
  CHECK(percent(printed_efficiency(series, 2).value) == 82.5);
}

TEST_CASE("CPU and GPU at batch 256, and the older run", "[published]") {
  const auto all = rueda::published("book");
  const auto find = [&](const std::string& source, Processor processor,
                        const std::string& variant) {
    return *std::ranges::find_if(all, [&](const Observation& o) {
      return o.source == source && o.processor == processor && o.variant == variant &&
             o.global_batch == 256 && o.ranks == 1;
    });
  };
  const Observation cpu = find(rueda::kBookSource, Processor::cpu, "");
  CHECK(cpu.first_epoch.value == 220);
  CHECK(cpu.epoch.value == 215);
  const Observation gpu = find(rueda::kBookSource, Processor::gpu, "");
  CHECK(gpu.epoch.value == Approx(14.308));        // 196 x 73 ms
  CHECK(gpu.first_epoch.value == Approx(23.716));  // 196 x 121 ms
  CHECK(gpu.printed_epoch.value == 14);
  const Observation older = find("Torres 2021, CTE-POWER", Processor::gpu, "sequential");
  CHECK(older.epoch.value == 41);
  CHECK(older.epoch.low == 40.5);
  CHECK(older.first_epoch.value == 41);
  CHECK_FALSE(older.includes_warm_up);
}

TEST_CASE("the homework's table", "[published]") {
  const auto all = rueda::published("nyu");
  CHECK(all.size() == 15);
  const auto series = rueda::make_series(all);
  const auto strong = std::ranges::count(series, rueda::Scaling::strong, &Series::scaling);
  CHECK(strong == 5);  // 32, 128, 512, 2048, 8192
  for (const Observation& seen : all) {
    CHECK(seen.image_size == 32);
    CHECK(seen.model == "resnet18");
    CHECK_FALSE(rueda::known(seen.first_epoch));
    CHECK(seen.epoch.high - seen.epoch.low == Approx(0.01));
    CHECK(double(seen.steps) == std::ceil(50000.0 / double(seen.global_batch)));
  }
}

TEST_CASE("every published run says where it is from", "[published]") {
  const auto sources = rueda::published_sources("all");
  CHECK(sources.size() == 3);
  for (const auto& source : sources) {
    INFO(source.source);
    CHECK_THAT(source.url, Contains("https://"));
    CHECK_FALSE(source.citation.empty());
    CHECK_FALSE(source.hardware.empty());
    CHECK_FALSE(source.runs.empty());
    for (const auto& run : source.runs) CHECK(run.source == source.source);
  }
  CHECK(rueda::published("all").size() ==
        rueda::published("book").size() + rueda::published("nyu").size());
}

TEST_CASE("an unknown set is refused with those that there are", "[published]") {
  CHECK_THROWS_WITH(rueda::published("books"), Contains("\"books\"") && Contains("book, nyu"));
  CHECK_THROWS_AS(rueda::published_sources(""), rueda::InputError);
}
