
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "backend/host_batch.hpp"
#include "backend/memory_plan.hpp"
#include "base/bfloat16.hpp"
#include "base/random.hpp"
#include "model/fusion.hpp"
#include "model/registry.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "tests/support/small_graphs.hpp"

namespace rueda::test {
namespace {

std::vector<std::string> names(const Graph& graph, const std::vector<std::size_t>& ends) {
  std::vector<std::string> names;
  for (const NodeId node : completing_nodes(graph, ends)) names.push_back(graph.node(node).name);
  return names;
}

TEST_CASE("buckets are complete with the earliest layer that has a parameter in them") {
  // conv: 60 + 5, bn: 5 + 5, dense: 20 + 4, in backward order dense, bn, conv.
  const Graph graph = small_one_of_each(Origin::pytorch);
  const std::size_t all = graph.parameter_count();
  CHECK(names(graph, {24, 34, all}) == std::vector<std::string>{"dense", "bn", "conv"});
  CHECK(names(graph, {23, 25, all}) == std::vector<std::string>{"dense", "bn", "conv"});
  CHECK(names(graph, {35, all}) == std::vector<std::string>{"conv", "conv"});
  CHECK(names(graph, {0, 24, 24, all}) ==
        std::vector<std::string>{"dense", "dense", "dense", "conv"});
  CHECK(names(graph, {}).empty());
}

TEST_CASE("buckets of a fused graph never announce a gradient that is still to come") {
  const Graph graph = fuse_additions(small_projection(8), {true, true});
  std::vector<std::size_t> ends;
  for (const Parameter& p : graph.parameters()) ends.push_back(p.offset + p.count);
  const auto nodes = completing_nodes(graph, ends);
  CHECK(std::is_sorted(nodes.rbegin(), nodes.rend()));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (NodeId node = 1; node < nodes[i]; ++node) {  // what backward reaches after that
      const auto* conv = std::get_if<ConvNode>(&graph.node(node).kind);
      if (conv != nullptr) CHECK(graph.parameter(conv->weight).offset >= ends[i]);
    }
  }
}

TEST_CASE("buckets: tensors are not cut, the first is short, the tail goes with the last") {
  const Graph graph = small_one_of_each(Origin::pytorch);  // 20, 4, 5, 5, 60, 5 parameters
  const std::size_t all = GradientLayout(graph).total();
  using Ends = std::vector<std::size_t>;
  CHECK(plan_buckets(graph, {.most_bytes = 0}) == Ends{all});
  CHECK(plan_buckets(graph, {.most_bytes = 1'000'000}) == Ends{all});
  CHECK(plan_buckets(graph, {.most_bytes = 24 * 4}) == Ends{24, 34, 94, all});
  CHECK(plan_buckets(graph, {.most_bytes = 1}) == Ends{20, 24, 29, 34, 94, all});
  CHECK(plan_buckets(graph, {.most_bytes = 24 * 4, .tail_apart = true}) ==
        Ends{24, 34, 94, graph.parameter_count(), all});
  CHECK(plan_buckets(graph, {.most_bytes = 0, .tail_apart = true}) ==
        Ends{graph.parameter_count(), all});
}

TEST_CASE("buckets: of a real network, and of any never more than can be announced") {
  const Graph graph = build_model("resnet18", 32, 10);
  const auto ends = plan_buckets(graph, {});
  REQUIRE(ends.size() > 2);
  CHECK(ends.front() * 4 <= kOuterBucketBytes);
  for (std::size_t i = 1; i < ends.size(); ++i) {
    CHECK(ends[i] > ends[i - 1]);
    CHECK((ends[i] - ends[i - 1]) * 4 <= 25'000'000);
  }
  CHECK(ends.back() == GradientLayout(graph).total());
  const std::size_t before_last = ends[ends.size() - 2];
  CHECK((graph.parameter_count() - before_last) * 4 <= kOuterBucketBytes);
  CHECK((graph.parameter_count() - before_last) * 4 >
        kOuterBucketBytes / 4);  // but not for nothing
  for (const std::string& name : model_names())
    CHECK(plan_buckets(build_model(name, 32, 10), {.most_bytes = 1}).size() <= kMostBuckets);
}

std::vector<BufferLife> random_lives(std::uint64_t seed) {
  std::vector<BufferLife> lives;
  const std::uint32_t count = 1 + to_below(random_bits(seed, 0), 40);
  for (std::uint32_t i = 0; i < count; ++i) {
    const int first = int(to_below(random_bits(seed, i, 1), 30));
    const int length = int(to_below(random_bits(seed, i, 2), 12));
    lives.push_back({to_below(random_bits(seed, i, 3), 2000), first, first + length});
  }
  return lives;
}

bool live_together(const BufferLife& a, const BufferLife& b) {
  for (int t = a.first; t <= a.last; ++t)
    if (t >= b.first && t <= b.last) return true;
  return false;
}

bool overlap(std::size_t a, std::size_t a_bytes, std::size_t b, std::size_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

std::size_t most_live_bytes(const std::vector<BufferLife>& lives) {
  std::size_t most = 0;
  for (int t = 0; t < 50; ++t) {
    std::size_t sum = 0;
    for (const BufferLife& life : lives) sum += t >= life.first && t <= life.last ? life.bytes : 0;
    most = std::max(most, sum);
  }
  return most;
}

TEST_CASE("memory plan: buffers that live together never overlap", "[memory_plan]") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::vector<BufferLife> lives = random_lives(seed);
    const MemoryPlan plan = plan_memory(lives);
    bool disjoint = true;
    bool inside = true;
    bool aligned = true;
    for (std::size_t a = 0; a < lives.size(); ++a) {
      inside = inside && plan.offsets[a] + lives[a].bytes <= plan.pool_bytes;
      aligned = aligned && plan.offsets[a] % kBufferAlignment == 0;
      for (std::size_t b = 0; b < a; ++b) {
        if (!live_together(lives[a], lives[b])) continue;
        disjoint =
            disjoint && !overlap(plan.offsets[a], lives[a].bytes, plan.offsets[b], lives[b].bytes);
      }
    }
    CAPTURE(seed);
    CHECK(disjoint);
    CHECK(inside);
    CHECK(aligned);
    CHECK(plan.pool_bytes >= most_live_bytes(lives));
    CHECK(plan_memory(lives).offsets == plan.offsets);  // the same twice
  }
}

TEST_CASE("memory plan: memory is reused", "[memory_plan]") {
  // A chain in which each buffer is read by the next step only: two suffice, however long it is.
  std::vector<BufferLife> chain;
  for (int i = 0; i < 20; ++i) chain.push_back({640, i, i + 1});
  CHECK(plan_memory(chain).pool_bytes == 1280);
  // Lives include their last moment: with a gap of one, a single buffer serves all.
  for (BufferLife& life : chain) life = {640, 2 * life.first, 2 * life.first + 1};
  CHECK(plan_memory(chain).pool_bytes == 640);
}

TEST_CASE("memory plan: a gap between two neighbours is found; nothing takes no memory",
          "[memory_plan]") {
  // The first two follow one another; the third outlives neither and fits in their place.
  const MemoryPlan plan = plan_memory({{1024, 0, 9}, {512, 0, 4}, {512, 5, 9}, {512, 0, 9}});
  CHECK(plan.pool_bytes == 2048);
  CHECK(plan.offsets[1] == plan.offsets[2]);
  CHECK(plan_memory({}).pool_bytes == 0);
  CHECK(plan_memory({{0, 0, 5}}).pool_bytes == 0);
  CHECK(plan_memory({{1, 0, 5}}).pool_bytes == kBufferAlignment);
}

constexpr std::size_t kImages = 5;

ImageSet some_images() {
  ImageSet set;
  for (std::size_t i = 0; i < kImages * kImageBytes; ++i)
    set.pixels.push_back(std::uint8_t(random_bits(5, i)));
  set.labels.assign(kImages, 1);
  return set;
}

BatchChoice choice_of(std::span<const std::uint32_t> indices, int size, bool augment) {
  return {
      indices, {size, augment, {125.3F, 123.0F, 113.9F}, {1 / 63.0F, 1 / 62.1F, 1 / 66.7F}}, 11, 4};
}

std::size_t place(const InputFormat& format, int size, int c, int y, int x) {
  const int at =
      format.channels_last ? (y * size + x) * kImageChannels + c : (c * size + y) * size + x;
  return std::size_t(at);
}

/// Bit for bit what kernels::input_value gives for every value.
template <typename T>
void check_image(const ImageSet& images, const BatchChoice& choice, std::size_t i,
                 const InputFormat& format) {
  const int size = choice.transform.image_size;
  std::vector<std::byte> made(format.image_bytes(size), std::byte{0xA5});
  std::vector<T> expected(made.size() / sizeof(T));
  make_host_image(images, choice, i, format, made.data());
  const std::uint32_t index = choice.indices[i];
  const kernels::SampleAugment augment =
      choice.transform.augment ? kernels::draw_augment(choice.seed, choice.epoch, index)
                               : kernels::SampleAugment{};
  for (int c = 0; c < kImageChannels; ++c) {
    for (int y = 0; y < size; ++y) {
      for (int x = 0; x < size; ++x)
        expected[place(format, size, c, y, x)] = kernels::from_float<T>(
            kernels::input_value(images.image(index).data(), choice.transform, augment, c, y, x));
    }
  }
  CHECK(std::memcmp(made.data(), expected.data(), made.size()) == 0);
}

TEST_CASE("host batch: every value is kernels::input_value, in every format; bytes of an image",
          "[host_batch]") {
  const ImageSet images = some_images();
  const std::vector<std::uint32_t> indices = {4, 0, 2};
  for (const int size : {8, 31, 32, 33, 64, 100}) {
    for (const bool augment : {false, true}) {
      CAPTURE(size, augment);
      const BatchChoice choice = choice_of(indices, size, augment);
      for (std::size_t i = 0; i < indices.size(); ++i) {
        check_image<float>(images, choice, i, {});
        check_image<float>(images, choice, i, {.channels_last = true});
        check_image<kernels::Bfloat16>(images, choice, i, {.bf16 = true});
        check_image<kernels::Bfloat16>(images, choice, i, {.bf16 = true, .channels_last = true});
      }
    }
  }
  CHECK(InputFormat{}.image_bytes(32) == std::size_t{3} * 32 * 32 * 4);
  CHECK(InputFormat{.bf16 = true, .channels_last = true}.image_bytes(10) == 600);
}

}  // namespace
}  // namespace rueda::test
