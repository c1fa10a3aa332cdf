#include <catch2/catch.hpp>

#include "rueda/core/error.hpp"
#include "rueda/predict/quantities.hpp"
#include "rueda/predict/what_if.hpp"

using namespace rueda;
using namespace rueda::predict;
using Catch::Contains;
using Catch::Detail::Approx;

namespace {

template <typename Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

CostModel changed(const std::string& text) {
  CostModel model;
  model.compute = {0.010, 0.002, 0.5, 0.001, 0.005};
  model.machine = {{1e-6, 1e-10}, {1e-5, 1e-9}, 1e-11, 4, 1};
  model.noise = Distribution::of_sample({0.8, 1.2});
  for (const Change& change : parse_changes(text)) apply(change, model);
  return model;
}

}  // namespace

TEST_CASE("times and rates with their units", "[predict]") {
  CHECK(parse_seconds("--alpha", "5us") == Approx(5e-6));
  CHECK(parse_seconds("--alpha", "544 ms") == Approx(0.544));
  CHECK(parse_seconds("--alpha", "1.5s") == 1.5);
  CHECK(parse_seconds("--alpha", "20ns") == Approx(20e-9));
  CHECK(parse_seconds("--alpha", "0s") == 0);
  CHECK(parse_rate("--bandwidth", "10GB/s") == 1e10);
  CHECK(parse_rate("--bandwidth", "1Gbit/s") == 125e6);
  CHECK(parse_rate("--bandwidth", "8kbit/s") == 1000);
  CHECK(parse_rate("--bandwidth", "118.5 MB/s") == Approx(118.5e6));
  CHECK(parse_share("--efficiency", "80%") == Approx(0.8));
  CHECK(parse_share("--efficiency", "0.8") == 0.8);
}

TEST_CASE("amounts that are none", "[predict]") {
  for (const char* text : {"", "5", "us", "-1us", "5 uus", "nans", "1e999s", "5us "}) {
    CAPTURE(text);
    CHECK_THAT(refusal([&] { parse_seconds("--alpha", text); }), Contains("--alpha"));
  }
  for (const char* text : {"0GB/s", "10", "10GB", "-1GB/s", "10gb/s", "inf"}) {
    CAPTURE(text);
    CHECK_THAT(refusal([&] { parse_rate("--bandwidth", text); }), Contains("Gbit/s"));
  }
  CHECK_THAT(refusal([] { parse_share("--efficiency", "80percent"); }), Contains("20%"));
}

TEST_CASE("lists of ranks", "[predict]") {
  using List = std::vector<std::size_t>;
  const auto list = [](const char* text) { return parse_rank_list("--ranks", text); };
  CHECK(list("1") == List{1});
  CHECK(list("1,2,4,...,64") == List{1, 2, 4, 8, 16, 32, 64});
  CHECK(list("1,2,...,8") == List{1, 2, 4, 8});
  CHECK(list("1,2,3,...,6") == List{1, 2, 3, 4, 5, 6});
  CHECK(list("1,4,8,...,20") == List{1, 4, 8, 12, 16, 20});
  CHECK(list("4,8,12,...,20,100") == List{4, 8, 12, 16, 20, 100});
  CHECK(list("1,2,4,...,100") == List{1, 2, 4, 8, 16, 32, 64, 100});
  for (const char* text : {"", "0", "1,,2", "2,1", "1,1", "...", "1,...,8", "1,2,...", "16385",
                           "1,2,...,...,8", "two", "1,2,...,2"}) {
    CAPTURE(text);
    CHECK_THAT(refusal([&] { list(text); }), Contains("--ranks"));
  }
}

TEST_CASE("a machine that is not there", "[predict]") {
  CHECK(changed("").machine.between.beta == 1e-9);
  CHECK(changed("bandwidth=2x").machine.between.beta == Approx(5e-10));
  CHECK(changed("bandwidth=10GB/s").machine.between.beta == Approx(1e-10));
  CHECK(changed("latency=0.5x").machine.between.alpha == Approx(5e-6));
  CHECK(changed("latency=3us").machine.between.alpha == Approx(3e-6));
  const CostModel both = changed("inside-bandwidth=4x,inside-latency=2us,add-rate=1GB/s");
  CHECK(both.machine.inside.beta == Approx(2.5e-11));
  CHECK(both.machine.inside.alpha == Approx(2e-6));
  CHECK(both.machine.gamma == Approx(1e-9));
  CHECK(both.machine.between.beta == 1e-9);
  const CostModel slow = changed("compute-time=3x");
  CHECK(slow.compute.compute_seconds(10) == Approx(0.090));
  CHECK(slow.compute.other_seconds(10) == Approx(0.045));
  CHECK(changed("noise=0x").noise.expected_max(1000) == Approx(1));
  CHECK(changed("noise=2x").noise.quantile(1) == Approx(1.4));
}

TEST_CASE("changes that are none", "[predict]") {
  const auto told = [](const char* text) { return refusal([&] { parse_changes(text); }); };
  CHECK_THAT(told("bandwith=2x"), Contains("bandwith") && Contains("inside-bandwidth"));
  CHECK_THAT(told("bandwidth"), Contains("--what-if bandwidth"));
  CHECK_THAT(told("bandwidth=0x"), Contains("above 0"));
  CHECK_THAT(told("bandwidth=2"), Contains("Gbit/s"));
  CHECK_THAT(told("latency=-1x"), Contains("--what-if latency"));
  CHECK_THAT(told("compute-time=5ms"), Contains("factor"));
  CHECK_THAT(told("latency=5us,,bandwidth=2x"), Contains("--what-if ''"));
}
