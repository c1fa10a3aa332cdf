#include "train/balance.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include <catch2/catch.hpp>

namespace rueda {
namespace {

using Images = std::vector<std::size_t>;

std::size_t sum(const Images& images) {
  return std::accumulate(images.begin(), images.end(), std::size_t{0});
}

/// By trying everything: when the slowest of two or three ranks is ready at best.
double best_seconds(const std::vector<RankCost>& costs, std::size_t global_batch,
                    const Images& most) {
  double best = 1e300;
  const std::size_t third = costs.size() > 2 ? global_batch : 1;
  for (std::size_t a = 1; a < global_batch; ++a) {
    for (std::size_t c = costs.size() > 2 ? 1 : 0; c < third; ++c) {
      if (a + c >= global_batch) continue;
      Images images{a, global_batch - a - c};
      if (costs.size() > 2) images.push_back(c);
      bool allowed = true;
      for (std::size_t r = 0; r < images.size(); ++r)
        allowed = allowed && images[r] > 0 && (most.empty() || images[r] <= most[r]);
      if (allowed) best = std::min(best, slowest_seconds(costs, images));
    }
  }
  return best;
}

/// Each image in turn to the rank that is ready first with it.
Images given_one_by_one(const std::vector<RankCost>& costs, std::size_t global_batch) {
  Images images(costs.size(), 1);
  for (std::size_t left = global_batch - costs.size(); left > 0; --left) {
    std::size_t first = 0;
    for (std::size_t rank = 1; rank < costs.size(); ++rank)
      if (costs[rank].seconds(images[rank] + 1) < costs[first].seconds(images[first] + 1))
        first = rank;
    ++images[first];
  }
  return images;
}

TEST_CASE("most images are given at once, as if one by one", "[balance]") {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> draw(0.5, 2);
  for (const std::size_t ranks : {1, 2, 5, 40}) {
    for (const std::size_t batch : {ranks, ranks + 1, 3 * ranks, 1000 + ranks}) {
      std::vector<RankCost> costs;
      for (std::size_t rank = 0; rank < ranks; ++rank)
        costs.push_back({rank % 3 == 0 ? 20 * draw(random) : 0, draw(random)});
      if (batch % 2 == 0) costs = std::vector<RankCost>(ranks, RankCost{0, 1});
      CHECK(balanced_images(costs, batch) == given_one_by_one(costs, batch));
    }
  }
  // The result comes at once.
  CHECK(sum(balanced_images(std::vector<RankCost>(2, RankCost{0, 1}), 4'000'000'000)) ==
        4'000'000'000);
}

TEST_CASE("images by speed: all finish together", "[balance]") {
  CHECK(balanced_images({{0, 1}, {0, 2}}, 24) == Images{16, 8});
  CHECK(balanced_images({{0, 1}, {0, 1}, {0, 1}}, 8) == Images{3, 3, 2});
  CHECK(balanced_images({{6, 1}, {0, 1}}, 20) == Images{7, 13});  // the first updates for longer
  CHECK(balanced_images({{0, 1}, {0, 100}}, 8) == Images{7, 1});  // at least one
  CHECK(balanced_images({{0, 1}, {0, 2}}, 24, {12, 99}) == Images{12, 12});
  CHECK(balanced_images({{0, 1}}, 5) == Images{5});
}

TEST_CASE("an image may take a rank no time", "[balance]") {
  CHECK(balanced_images({{0, 0}, {0, 1}}, 24) == Images{23, 1});
  CHECK(balanced_images({{0, 0}, {0, 1}}, 24, {10, 99}) == Images{10, 14});
  CHECK(balanced_images({{5.5, 0}, {0, 1}}, 24) == Images{19, 5});  // late, but at once
  CHECK(balanced_images({{30, 0}, {0, 1}}, 24) == Images{1, 23});   // the other one is ready before
  for (const RankCost& both : {RankCost{0, 0}, RankCost{2, 0}})
    CHECK(sum(balanced_images({both, both, both}, 24)) == 24);
}

TEST_CASE("images in parts: what does not divide goes to the largest remainders", "[balance]") {
  CHECK(images_in_parts({2, 1}, 16) == Images{11, 5});  // 10.67, 5.33
  CHECK(images_in_parts({1, 2}, 16) == Images{5, 11});
  CHECK(images_in_parts({3, 2, 2}, 16) == Images{7, 5, 4});  // 6.86, 4.57, 4.57: the first
  CHECK(images_in_parts({5, 3, 1}, 16) == Images{9, 5, 2});  // 8.89, 5.33, 1.78
  CHECK(images_in_parts({3, 1}, 32) == Images{24, 8});
  CHECK(images_in_parts({100, 1, 1}, 8) == Images{6, 1, 1});  // at least one each
}

TEST_CASE("no other cut of a batch is faster", "[balance]") {
  std::mt19937 draw(7);
  std::uniform_real_distribution<double> cost(0.1, 3);
  for (int i = 0; i < 60; ++i) {
    std::vector<RankCost> costs(2 + draw() % 2);
    for (RankCost& c : costs) c = {cost(draw) * 2, cost(draw)};
    if (i % 5 == 0) costs[0].per_image = 0;
    const std::size_t batch = costs.size() + draw() % 24;
    Images most;
    if (i % 3 == 0) most.assign(costs.size(), batch / 2 + 1);
    const Images images = balanced_images(costs, batch, most);
    CAPTURE(i, batch, images);
    CHECK(sum(images) == batch);
    CHECK(slowest_seconds(costs, images) == Approx(best_seconds(costs, batch, most)));
  }
}

TEST_CASE("shares change where that gains 5 %, and stay below", "[balance]") {
  CHECK(rebalanced_images({{0, 1}, {0, 1.1}}, {500, 500}) == Images{500, 500});  // gains 4.7 %
  CHECK(rebalanced_images({{0, 1}, {0, 1.08}}, {500, 500}) == Images{500, 500});
  CHECK(rebalanced_images({{0, 1}, {0, 1.12}}, {500, 500}) == Images{528, 472});
  CHECK(rebalanced_images({{0, 1}, {0, 1}}, {700, 300}) == Images{500, 500});  // it got fast again
}

TEST_CASE("ranks that are alike keep equal shares beside noise", "[balance]") {
  std::mt19937 draw(3);
  std::normal_distribution<double> noise(1, 0.012);
  Images now{32, 32, 32, 32};
  for (int epoch = 0; epoch < 200; ++epoch) {
    std::vector<RankCost> costs(4);
    for (RankCost& c : costs) c = {0.5, std::clamp(noise(draw), 0.97, 1.03)};
    now = rebalanced_images(costs, now);
  }
  CHECK(now == Images{32, 32, 32, 32});
}

TEST_CASE("costs are medians of all steps and of each half", "[balance]") {
  const MeasuredCost cost = measured_cost({{1, 10}, {1, 12}, {5, 11}, {2, 30}, {2, 32}, {2, 31}});
  CHECK(cost.all.per_image == Approx(21));
  CHECK(cost.all.fixed == Approx(2));
  CHECK(cost.first_half.per_image == Approx(11));
  CHECK(cost.second_half.per_image == Approx(31));
  CHECK(cost.first_half.fixed == Approx(1));
  CHECK(measured_cost({{1, 10}, {1, 20}, {1, 30}}).first_half.per_image == Approx(10));
  CHECK(measured_cost({{1, 10}, {1, 12}}).all.per_image == 0);  // too few
}

TEST_CASE("shares change where both halves of an epoch gain 5 %", "[balance]") {
  const RankCost fast{0, 1}, slow{0, 1.4}, between{0, 1.2};
  const std::vector<std::size_t> equal{500, 500};
  const MeasuredCost steadily_fast{fast, fast, fast}, steadily_slow{slow, slow, slow};
  CHECK(steadily_rebalanced_images({steadily_fast, steadily_slow}, equal) == Images{583, 417});
  const MeasuredCost slow_at_first{between, slow, fast}, slow_later{between, fast, slow};
  CHECK(steadily_rebalanced_images({steadily_fast, slow_at_first}, equal) == equal);
  CHECK(steadily_rebalanced_images({steadily_fast, slow_later}, equal) == equal);
  CHECK(steadily_rebalanced_images({slow_later, steadily_fast}, equal) == equal);
  CHECK(steadily_rebalanced_images({steadily_fast, steadily_slow}, equal, {550, 900}) ==
        Images{550, 450});
}

TEST_CASE("shares stay while the time of a rank is not known", "[balance]") {
  const RankCost fast{0, 1}, slow{0, 1.4};
  const MeasuredCost known_fast{fast, fast, fast}, known_slow{slow, slow, slow};
  const MeasuredCost unknown = measured_cost({fast, fast});  // too few steps
  const Images equal{500, 500, 500}, most{700, 700, 700};
  CHECK(steadily_rebalanced_images({known_fast, known_slow, unknown}, equal, most) == equal);
  CHECK(steadily_rebalanced_images({unknown, known_fast, known_slow}, equal, most) == equal);
  CHECK(steadily_rebalanced_images({unknown, unknown, unknown}, equal, most) == equal);
  CHECK(steadily_rebalanced_images({known_fast, known_slow, known_slow}, equal, most) != equal);
}

TEST_CASE("given parts are whole images, all of them, and one at least", "[balance]") {
  CHECK(images_in_parts({3, 1}, 128) == Images{96, 32});
  CHECK(images_in_parts({1, 1, 1}, 8) == Images{3, 3, 2});  // as even_split cuts
  CHECK(images_in_parts({0.3, 0.1}, 10) == Images{8, 2});
  CHECK(images_in_parts({1000, 1}, 8) == Images{7, 1});
  CHECK(images_in_parts({43, 21}, 64) == Images{43, 21});  // shares are parts of themselves
  for (std::size_t batch = 5; batch < 60; ++batch) {
    const Images images = images_in_parts({5, 1, 0.01, 2.5, 7}, batch);
    CHECK(sum(images) == batch);
    CHECK(std::ranges::min(images) >= 1);
  }
}

}  // namespace
}  // namespace rueda
