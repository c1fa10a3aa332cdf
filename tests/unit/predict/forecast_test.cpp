#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "predict/predict.hpp"
#include "tests/support/made_study.hpp"

using namespace rueda;
using namespace rueda::predict;

TEST_CASE("what explains the loss of epochs that others measured", "[predict]") {
  // 25 steps of 544 ms on one rank, 7 of 768 ms on four; 50,000 images, 2048 a rank. By hand: the
  // four lose 5.376 - 3.4 = 1.976 s; 24.414 and 6.1035 steps of images make 25 and 7.
  CostModel model;
  model.machine.between = {1e-3, 1e-9};
  model.buckets = {{40e6, 1}};
  const auto on = [](std::size_t ranks) {
    return Scenario{.ranks = ranks, .global_batch = 2048 * ranks, .images = 50'000};
  };
  const Table losses = loss_table(model, {{1, 13.6}, {4, 5.376}}, {on(1), on(4)});
  const auto four = [&](const char* key) { return test::number_at(losses, 4, key); };
  CHECK(four("lost_seconds") == Approx(1.976));
  CHECK(four("efficiency") == Approx(0.632440));
  CHECK(four("all_reduce_seconds") == Approx(7 * 0.066));
  CHECK(four("partial_at_most_seconds") ==
        Approx(5.376 * (1 - 6.103516 / 7) - 3.4 * (1 - 24.414063 / 25)));
  CHECK_FALSE(test::cell(losses, 0, "lost_seconds").is_number());
  CHECK_THROWS_AS(loss_table(model, {{4, 5.376}}, {on(4)}), InputError);
}
