#include <catch2/catch.hpp>

#include "predict/predict.hpp"
#include "tests/support/data_files.hpp"

using namespace rueda;
using namespace rueda::predict;
using Catch::Contains;
using test::refusal;

namespace {

CostModel changed(const std::string& text) {
  CostModel model;
  model.compute = {0.010, 0.002, 0.5, 0.001, 0.005};
  model.machine = {{1e-6, 1e-10}, {1e-5, 1e-9}, 1e-11, 4, 1};
  model.noise = Distribution::of_sample({0.8, 1.2});
  for (const Change& change : parse_changes(text)) change.apply(model, change);
  return model;
}

TEST_CASE("times, rates and shares with their units", "[predict]") {
  using Parse = double (*)(const std::string&, const std::string&);
  struct Case {
    Parse parse;
    const char* text;
    double value;
  };
  for (const auto& [parse, text, value] :
       {Case{parse_seconds, "5us", 5e-6}, Case{parse_seconds, "544 ms", 0.544},
        Case{parse_seconds, "1.5s", 1.5}, Case{parse_seconds, "20ns", 20e-9},
        Case{parse_seconds, "0s", 0}, Case{parse_rate, "10GB/s", 1e10},
        Case{parse_rate, "1Gbit/s", 125e6}, Case{parse_rate, "8kbit/s", 1000},
        Case{parse_rate, "118.5 MB/s", 118.5e6}, Case{parse_share, "80%", 0.8},
        Case{parse_share, "0.8", 0.8}}) {
    CHECK(parse("--option", text) == Approx(value));
  }
  const std::vector<std::pair<Parse, std::vector<const char*>>> refused = {
      {parse_seconds, {"", "5", "us", "-1us", "5 uus", "nans", "1e999s", "5us "}},
      {parse_rate, {"", "0GB/s", "10", "10GB", "-1GB/s", "10gb/s", "inf"}},
      {parse_share, {"80percent"}}};
  for (const auto& [parse, texts] : refused) {
    for (const char* text : texts) {
      CAPTURE(text);
      CHECK_THAT(refusal([&, read = parse] { read("--option", text); }), Contains("--option"));
    }
  }
}

TEST_CASE("lists of ranks", "[predict]") {
  using List = std::vector<std::size_t>;
  const auto list = [](const char* text) { return parse_rank_list("--ranks", text); };
  for (const auto& [text, ranks] : std::vector<std::pair<const char*, List>>{
           {"1", {1}},
           {"1,2,4,...,64", {1, 2, 4, 8, 16, 32, 64}},
           {"1,2,...,8", {1, 2, 4, 8}},
           {"1,2,3,...,6", {1, 2, 3, 4, 5, 6}},
           {"1,4,8,...,20", {1, 4, 8, 12, 16, 20}},
           {"4,8,12,...,20,100", {4, 8, 12, 16, 20, 100}},
           {"1,2,4,...,100", {1, 2, 4, 8, 16, 32, 64, 100}}}) {
    CHECK(list(text) == ranks);
  }
  for (const char* text : {"", "0", "1,,2", "2,1", "1,1", "...", "1,...,8", "1,2,...", "16385",
                           "1,2,...,...,8", "two", "1,2,...,2"}) {
    CAPTURE(text);
    CHECK_THAT(refusal([&] { list(text); }), Contains("--ranks"));
  }
}

TEST_CASE("changes of a machine", "[predict]") {
  const auto check = [](const char* text, const Link& inside, const Link& between, double gamma) {
    CAPTURE(text);
    const Machine machine = changed(text).machine;
    CHECK(machine.inside.alpha == Approx(inside.alpha));
    CHECK(machine.inside.beta == Approx(inside.beta));
    CHECK(machine.between.alpha == Approx(between.alpha));
    CHECK(machine.between.beta == Approx(between.beta));
    CHECK(machine.gamma == Approx(gamma));
  };
  check("", {1e-6, 1e-10}, {1e-5, 1e-9}, 1e-11);
  check("bandwidth=2x,latency=0.5x", {1e-6, 1e-10}, {5e-6, 5e-10}, 1e-11);
  check("bandwidth=10GB/s,latency=3us", {1e-6, 1e-10}, {3e-6, 1e-10}, 1e-11);
  check("inside-bandwidth=4x,inside-latency=2us,add-rate=1GB/s", {2e-6, 2.5e-11}, {1e-5, 1e-9},
        1e-9);
  const CostModel slow = changed("compute-time=3x");
  CHECK(slow.compute.compute_seconds(10) == Approx(0.090));
  CHECK(slow.compute.other_seconds(10) == Approx(0.045));
  CHECK(changed("noise=0x").noise.expected_max(1000) == Approx(1));
  CHECK(changed("noise=2x").noise.quantile(1) == Approx(1.4));
}

TEST_CASE("changes that are none", "[predict]") {
  for (const auto& [text, words] : std::vector<std::pair<const char*, std::vector<const char*>>>{
           {"bandwith=2x", {"bandwith", "inside-bandwidth"}},
           {"bandwidth", {"--what-if bandwidth"}},
           {"bandwidth=0x", {"above 0"}},
           {"bandwidth=2", {"Gbit/s"}},
           {"latency=-1x", {"--what-if latency"}},
           {"compute-time=5ms", {"factor"}},
           {"latency=5us,,bandwidth=2x", {"--what-if ''"}}}) {
    for (const char* word : words)
      CHECK_THAT(refusal([&, text = text] { parse_changes(text); }), Contains(word));
  }
}

}  // namespace
