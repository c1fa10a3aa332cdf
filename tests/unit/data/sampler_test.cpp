#include "data/sampler.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include <catch2/catch.hpp>

#include "tests/support/data_files.hpp"

namespace rueda::test {
namespace {

using Catch::Contains;

using Indices = std::vector<std::uint32_t>;

Indices whole_step(const Sampler& sampler, std::size_t step, std::size_t parts) {
  Indices all;
  for (std::size_t part = 0; part < parts; ++part) {
    const Indices own = sampler.indices(step, part);
    CHECK(own.size() == sampler.part_samples(step, part));
    all.insert(all.end(), own.begin(), own.end());
  }
  CHECK(all.size() == sampler.step_samples(step));
  return all;
}

/// All that `parts` draw in the current epoch, in order of step and part.
Indices whole_epoch(const Sampler& sampler, std::size_t parts) {
  Indices all;
  for (std::size_t step = 0; step < sampler.steps_per_epoch(); ++step) {
    const Indices batch = whole_step(sampler, step, parts);
    all.insert(all.end(), batch.begin(), batch.end());
  }
  return all;
}

Indices sorted(Indices indices) {
  std::ranges::sort(indices);
  return indices;
}

Indices identity(std::size_t count) {
  Indices all(count);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

}  // namespace

TEST_CASE("every number of ranks sees the same global batches", "[sampler]") {
  const Sampler one({.samples = 103, .global_batch = 20, .parts = 1, .seed = 7});
  const Indices order = whole_epoch(one, 1);
  CHECK(sorted(order) == identity(103));
  CHECK(order != identity(103));
  for (std::size_t parts = 2; parts <= 20; ++parts) {
    CAPTURE(parts);
    CHECK(whole_epoch(Sampler({.samples = 103, .global_batch = 20, .parts = parts, .seed = 7}),
                      parts) == order);
  }
}

TEST_CASE("unequal shares draw the same global batches", "[sampler]") {
  const Sampler one({.samples = 103, .global_batch = 20, .parts = 1, .seed = 7});
  const Indices order = whole_epoch(one, 1);
  const std::vector<std::vector<std::size_t>> cuts = {{15, 5}, {1, 18, 1}, {10, 10}, {7, 1, 1, 11}};
  for (const auto& shares : cuts) {
    for (std::size_t micro_batches = 1; micro_batches <= 3; ++micro_batches) {
      const std::size_t parts = shares.size() * micro_batches;
      const Sampler cut(
          {.samples = 103, .global_batch = 20, .parts = parts, .shares = shares, .seed = 7});
      CAPTURE(shares, micro_batches);
      CHECK(whole_epoch(cut, parts) == order);
      for (std::size_t rank = 0; rank < shares.size(); ++rank) {
        std::size_t own = 0;
        for (std::size_t k = 0; k < micro_batches; ++k)
          own += cut.part_samples(0, rank * micro_batches + k);
        CHECK(own == shares[rank]);
      }
    }
  }
  // The last step has 3 of 20 samples: 15 and 5 of them are 2 and 1 in whole samples.
  const Sampler cut({.samples = 103, .global_batch = 20, .parts = 2, .shares = {15, 5}});
  CHECK(cut.part_samples(5, 0) == 2);
  CHECK(cut.part_samples(5, 1) == 1);
  CHECK(cut.part_sizes(0) == std::vector<std::size_t>{15, 2});
}

TEST_CASE("the order depends on epoch and seed and on nothing else", "[sampler]") {
  SamplerOptions options{.samples = 64, .global_batch = 16, .parts = 4, .seed = 3};
  Sampler sampler(options);
  const Indices first = whole_epoch(sampler, 4);
  sampler.set_epoch(5);
  const Indices sixth = whole_epoch(sampler, 4);
  CHECK(sixth != first);
  CHECK(sorted(sixth) == identity(64));
  sampler.set_epoch(0);
  CHECK(whole_epoch(sampler, 4) == first);
  options.seed = 4;
  CHECK(whole_epoch(Sampler(options), 4) != first);
  options.shuffle = false;
  CHECK(whole_epoch(Sampler(options), 4) == identity(64));
}

TEST_CASE("a partial last batch is kept or dropped; one step may hold the whole data set",
          "[sampler]") {
  SamplerOptions options{.samples = 22, .global_batch = 10, .parts = 3};
  const Sampler kept(options);
  CHECK(kept.steps_per_epoch() == 3);
  CHECK(kept.step_samples(2) == 2);
  CHECK(kept.part_samples(2, 1) == 1);
  CHECK(kept.part_samples(2, 2) == 0);
  CHECK(kept.indices(2, 2).empty());
  CHECK(kept.part_sizes(0) == std::vector<std::size_t>{4, 1});
  CHECK(kept.part_sizes(2) == std::vector<std::size_t>{3, 0});
  options.last_batch = LastBatch::drop;
  const Sampler dropped(options);
  CHECK(dropped.steps_per_epoch() == 2);
  CHECK(dropped.part_sizes(0) == std::vector<std::size_t>{4});
  const Indices drawn = whole_epoch(dropped, 3);
  CHECK(drawn.size() == 20);
  CHECK(std::set(drawn.begin(), drawn.end()).size() == 20);
  const Sampler sampler({.samples = 7, .global_batch = 100, .parts = 5});
  CHECK(sampler.steps_per_epoch() == 1);
  CHECK(sampler.step_samples(0) == 7);
  CHECK(sorted(whole_epoch(sampler, 5)) == identity(7));
}

TEST_CASE("fixed slices are contiguous, disjoint and complete", "[sampler]") {
  for (const bool shuffle : {true, false}) {
    for (std::size_t parts = 1; parts <= 6; ++parts) {
      CAPTURE(shuffle, parts);
      Sampler sampler({.samples = 107,
                       .global_batch = 20,
                       .parts = parts,
                       .shuffle = shuffle,
                       .shard = Shard::fixed});
      std::uint32_t next = 0;
      for (std::size_t part = 0; part < parts; ++part) {
        for (const std::size_t epoch : {std::size_t{0}, std::size_t{3}}) {
          sampler.set_epoch(epoch);
          Indices own;
          for (std::size_t step = 0; step < sampler.steps_per_epoch(); ++step) {
            const Indices drawn = sampler.indices(step, part);
            own.insert(own.end(), drawn.begin(), drawn.end());
          }
          Indices slice(own.size());
          std::iota(slice.begin(), slice.end(), next);
          CHECK(sorted(own) == slice);
          CHECK((own == slice) == !shuffle);
          if (epoch == 3) next += std::uint32_t(own.size());
        }
      }
      CHECK(next == 107);
    }
  }
}

TEST_CASE("each fixed slice has an order of its own", "[sampler]") {
  Sampler sampler({.samples = 100, .global_batch = 100, .parts = 2, .shard = Shard::fixed});
  sampler.set_epoch(0);
  Indices other = sampler.indices(0, 1);
  for (std::uint32_t& index : other) index -= 50;
  CHECK(sorted(other) == identity(50));
  CHECK(sampler.indices(0, 0) != other);
}

TEST_CASE("fixed slices with a dropped last batch stay disjoint and reach all samples",
          "[sampler]") {
  Sampler sampler({.samples = 39,
                   .global_batch = 12,
                   .parts = 4,
                   .shard = Shard::fixed,
                   .last_batch = LastBatch::drop});
  std::set<std::uint32_t> seen;
  for (std::size_t epoch = 0; epoch < 20; ++epoch) {
    sampler.set_epoch(epoch);
    const Indices drawn = whole_epoch(sampler, 4);
    CHECK(drawn.size() == 36);
    CHECK(std::set(drawn.begin(), drawn.end()).size() == 36);
    seen.insert(drawn.begin(), drawn.end());
  }
  CHECK(seen.size() == 39);
}

TEST_CASE("what can not be sampled is refused with a remedy", "[sampler]") {
  const auto refused = [](const SamplerOptions& options) {
    return refusal([&] { const Sampler sampler(options); });
  };
  CHECK_THAT(refused({.samples = 3, .global_batch = 8, .parts = 4}),
             Contains("has 3 images, fewer than the 4 parts"));
  CHECK_THAT(
      refused({.samples = 9, .global_batch = 3, .parts = 4}),
      Contains("global batch 3 is smaller than its 4 parts") && Contains("raise --global-batch"));
  CHECK_THAT(refused({.samples = 9, .global_batch = 10, .parts = 4, .last_batch = LastBatch::drop}),
             Contains("no step remains") && Contains("--last-batch at keep"));
  CHECK_THAT(refused({.samples = 9, .global_batch = 0}), Contains("at least 1"));
  CHECK_THAT(refused({.samples = 9, .global_batch = 4, .parts = 0}), Contains("at least 1"));
  CHECK(refused({.samples = 10, .global_batch = 10, .parts = 3}).empty());
}

}  // namespace rueda::test
