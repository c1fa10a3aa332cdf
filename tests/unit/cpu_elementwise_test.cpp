#include <catch2/catch.hpp>

#include "../support/fp32_tolerance.hpp"
#include "../support/operation_bench.hpp"
#include "../support/replica_bench.hpp"
#include "rueda/kernels/element_hash.hpp"

namespace rueda::test {
namespace {

cpu::CpuBackend backend_of(int threads) { return cpu::CpuBackend({threads, std::nullopt}); }

/// Above and below the length from which a loop is shared among threads; odd, so parts differ.
constexpr std::size_t kLengths[] = {0, 1, 7, 16383, 40001};

TEST_CASE("cpu softmax cross entropy of a batch", "[cpu]") {
  auto backend = backend_of(1);
  const Tensor logits = random_tensor(1, 5, {10, 1, 1}, 4.0);
  const std::vector<std::int32_t> labels = {3, 0, 9, 7, 7};
  const std::vector<float> from = to_floats(logits.values);
  std::vector<float> gradient(from.size());
  LossSums sums;
  const float scale = 0.0625F;
  LossRequest request{.logits = reinterpret_cast<const std::byte*>(from.data()),
                      .labels = labels.data(),
                      .rows = 5,
                      .classes = 10,
                      .sums = &sums,
                      .scale = &scale,
                      .gradient = reinterpret_cast<std::byte*>(gradient.data())};
  backend.softmax_cross_entropy(request);
  const ReferenceLoss expected = softmax_cross_entropy(logits, labels, 0.0625);
  CHECK(excess({static_cast<double>(sums.loss)}, {expected.loss}, {5 * 8 + expected.loss}, 16) <=
        1);
  CHECK(static_cast<int>(sums.correct) == expected.correct);
  CHECK(excess(to_doubles(gradient), expected.gradient.values, Vector(50, 0.0625 * 3), 16) <= 1);
  LossSums again;
  request.sums = &again;
  request.scale = nullptr;
  request.gradient = nullptr;
  backend.softmax_cross_entropy(request);
  CHECK(again.loss == sums.loss);
}

TEST_CASE("cpu batches: rows follow the indices", "[cpu]") {
  auto backend = backend_of(1);
  const ImageSet images = random_images(4);
  const auto held = backend.hold(images);
  kernels::PixelTransform t = plain_transform(32);
  t.augment = GENERATE(false, true);
  const std::vector<std::uint32_t> indices = {2, 0, 2};
  std::vector<float> input(3 * kImageBytes);
  std::vector<std::int32_t> labels(3);
  backend.make_batch({held.get(), indices, t, 8, 6}, reinterpret_cast<std::byte*>(input.data()),
                     labels.data());
  CHECK(labels == std::vector<std::int32_t>{6, 0, 6});
  std::vector<float> expected;
  for (const std::uint32_t index : indices) {
    const auto augment = t.augment ? kernels::draw_augment(8, 6, index) : kernels::SampleAugment{};
    const Tensor place(1, 3, 32, 32);
    for_each_place(place, [&](int, int c, int y, int x) {
      expected.push_back(kernels::input_value(images.image(index).data(), t, augment, c, y, x));
    });
  }
  CHECK(input == expected);
}

TEST_CASE("cpu sum of gradients, also in place", "[cpu]") {
  GraphBuilder g("sum", {10, 3, 3});
  g.pad_shortcut("carrier", g.input(), 10, 1);
  const Graph graph = std::move(g).finish();
  for (const auto layout : kLayouts) {
    cpu::CpuBackend backend({1, layout});
    const std::size_t bytes = backend.activation_bytes(graph, 1, 2);
    const auto a = backend.allocate(bytes);
    const auto b = backend.allocate(bytes);
    const std::vector<float> x = to_floats(random_vector(2, 180));
    const std::vector<float> y = to_floats(random_vector(3, 180));
    backend.write_activation(graph, 1, 2, x, a->data());
    backend.write_activation(graph, 1, 2, y, b->data());
    backend.sum_gradients(graph, 1, 2, a->data(), a->data(), b->data());
    std::vector<float> sum(180);
    backend.read_activation(graph, 1, 2, a->data(), sum);
    std::vector<float> expected;
    for (std::size_t i = 0; i < 180; ++i) expected.push_back(x[i] + y[i]);
    CHECK(sum == expected);
  }
}

TEST_CASE("cpu loops give the same for any length and number of threads", "[cpu]") {
  const int threads = GENERATE(1, 3);
  auto backend = backend_of(threads);
  for (const std::size_t n : kLengths) {
    CAPTURE(threads, n);
    std::vector<float> w = to_floats(random_vector(4, n));
    std::vector<float> v = to_floats(random_vector(5, n));
    const std::vector<float> g = to_floats(random_vector(6, n));
    std::vector<float> expected_w = w;
    std::vector<float> expected_v = v;
    std::vector<float> expected_sum = w;
    std::uint64_t expected_hash = 0;
    const kernels::SgdStep step{0.1F, 0.9F, 0.01F, true};
    for (std::size_t i = 0; i < n; ++i) {
      expected_hash += kernels::element_hash(i, w[i]);
      expected_sum[i] = w[i] + g[i];
      kernels::sgd_update(expected_w[i], expected_v[i], g[i], step);
    }
    CHECK(backend.hash(w) == expected_hash);
    std::vector<float> sum = w;
    backend.reduce_device().add(sum, g);
    CHECK(sum == expected_sum);
    backend.sgd_update(w, v, g, step);
    CHECK(w == expected_w);
    CHECK(v == expected_v);
  }
  backend_of(1);
}

TEST_CASE("cpu statistics, copies and zeros", "[cpu]") {
  auto backend = backend_of(1);
  std::vector<float> to(2);
  // The second is over 8 * 0.625 = 5 values: 5/4 of it.
  backend.weigh_statistics(to, std::vector<float>{1.5F, -2.0F}, std::vector<float>{0.0F, 0.625F},
                           8.0F);
  CHECK(to == std::vector<float>{12.0F, -20.0F});
  std::vector<float> running = {4.0F, 0.0F};
  backend.update_running(running, std::vector<float>{16.0F, 8.0F}, 8.0F, 0.75F);
  CHECK(running == std::vector<float>{3.5F, 0.25F});
  std::vector<float> copy(2);
  backend.upload(copy, to);
  CHECK(copy == to);
  backend.zero(to);
  CHECK(to == std::vector<float>(2, 0.0F));
  backend.download(to, copy);
  CHECK(to == copy);
  backend.reduce_device().copy(to, running);
  CHECK(to == running);
}

TEST_CASE("cpu memory is zeroed and aligned", "[cpu]") {
  auto backend = backend_of(1);
  CHECK(backend.name() == "cpu");
  CHECK_FALSE(backend.device().empty());
  for (const std::size_t bytes : {0U, 4U, 1000U}) {
    const auto memory = backend.allocate(bytes);
    CHECK(memory->size() == bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(memory->data()) % 64 == 0);
    for (const float v : memory->floats()) CHECK(v == 0.0F);
  }
}

}  // namespace
}  // namespace rueda::test
