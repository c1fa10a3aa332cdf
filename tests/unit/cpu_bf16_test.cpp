// What only bf16 has: buffers of 2-byte elements, and processors that lack it. The operations in
// bf16 are tested beside those in fp32, with the same checks.
#include <limits>

#include <catch2/catch.hpp>

#include "../support/bf16_rounding.hpp"
#include "../support/has_avx512.hpp"
#include "../support/operation_bench.hpp"
#include "../support/replica_bench.hpp"
#include "rueda/core/error.hpp"

namespace rueda::test {
namespace {

constexpr int kBatch = 2;

/// image -> carrier (10 channels, which no block fits) -> pool
Graph carrier_graph() {
  GraphBuilder g("carrier", {10, 3, 3});
  g.global_average_pool("pool", g.pad_shortcut("carrier", g.input(), 10, 1));
  return std::move(g).finish();
}

/// An activation of one node on a backend.
class Activation {
 public:
  Activation(cpu::CpuBackend& backend, const Graph& graph, NodeId node)
      : backend_(backend),
        graph_(graph),
        node_(node),
        memory_(backend.allocate(backend.activation_bytes(graph, node, kBatch))) {}

  std::byte* data() const { return memory_->data(); }
  void write(const Vector& nchw) {
    backend_.write_activation(graph_, node_, kBatch, to_floats(nchw), data());
  }
  Vector read() const {
    const Shape s = graph_.shape(node_);
    std::vector<float> nchw(static_cast<std::size_t>(kBatch * s.channels * s.height * s.width));
    backend_.read_activation(graph_, node_, kBatch, data(), nchw);
    return to_doubles(nchw);
  }

 private:
  cpu::CpuBackend& backend_;
  const Graph& graph_;
  NodeId node_;
  std::unique_ptr<Memory> memory_;
};

TEST_CASE("cpu bf16 takes two bytes up to the global pooling, four from there", "[cpu][bf16]") {
  const Graph graph = carrier_graph();
  for (const auto layout : kLayouts) {
    const cpu::CpuBackend wide({1, layout, Precision::fp32});
    const cpu::CpuBackend narrow({1, layout, Precision::bf16});
    const auto bytes = [&](const Backend& b, NodeId n) {
      return b.activation_bytes(graph, n, kBatch);
    };
    CHECK(2 * bytes(narrow, 0) == bytes(wide, 0));
    CHECK(2 * bytes(narrow, 1) == bytes(wide, 1));
    CHECK(bytes(narrow, 2) == bytes(wide, 2));
  }
}

TEST_CASE("cpu bf16 activations are written rounded and read as they are", "[cpu][bf16]") {
  const Graph graph = carrier_graph();
  for (const auto layout : kLayouts) {
    CAPTURE(to_string(layout));
    cpu::CpuBackend backend({1, layout, Precision::bf16});
    for (const NodeId node : {0, 1}) {
      Activation a(backend, graph, node);
      const Vector values = random_vector(1, 180);
      a.write(values);
      CHECK(a.read() == as_stored(values, Precision::bf16));
    }
    Activation pooled(backend, graph, 2);
    const Vector values = random_vector(2, 20);
    pooled.write(values);
    CHECK(pooled.read() == values);
  }
}

TEST_CASE("cpu bf16 sum of gradients is rounded once, also in place", "[cpu][bf16]") {
  const Graph graph = carrier_graph();
  for (const auto layout : kLayouts) {
    CAPTURE(to_string(layout));
    cpu::CpuBackend backend({1, layout, Precision::bf16});
    for (const NodeId node : {1, 2}) {
      const Precision stored = node == 1 ? Precision::bf16 : Precision::fp32;
      const std::size_t count = node == 1 ? 180 : 20;
      const Vector x = as_stored(random_vector(3, count), stored);
      const Vector y = as_stored(random_vector(4, count), stored);
      Activation a(backend, graph, node);
      Activation b(backend, graph, node);
      a.write(x);
      b.write(y);
      backend.sum_gradients(graph, node, kBatch, a.data(), a.data(), b.data());
      Vector expected;
      for (std::size_t i = 0; i < count; ++i) {
        expected.push_back(static_cast<double>(static_cast<float>(x[i] + y[i])));
      }
      CHECK(a.read() == as_stored(expected, stored));
    }
  }
}

TEST_CASE("cpu bf16 batches hold the rounded pixels", "[cpu][bf16]") {
  cpu::CpuBackend backend({1, std::nullopt, Precision::bf16});
  // Resized, for the pixels alone are few enough that bf16 holds them.
  constexpr int side = 20;
  GraphBuilder g("image", {3, side, side});
  g.global_average_pool("pool", g.conv("conv", g.input(), {.filters = 8}));
  const Graph graph = std::move(g).finish();
  const ImageSet images = random_images(4);
  const auto held = backend.hold(images);
  const std::vector<std::uint32_t> indices = {3, 1};
  Activation input(backend, graph, 0);
  std::vector<std::int32_t> labels(kBatch);
  backend.make_batch({held.get(), indices, plain_transform(side), 8, 6}, input.data(),
                     labels.data());
  CHECK(labels == std::vector<std::int32_t>{9, 3});
  const Vector exact = reference_batch(images, indices, side).input.values;
  const Vector rounded = as_stored(exact, Precision::bf16);
  const bool rounding_shows = rounded != exact;
  REQUIRE(rounding_shows);
  CHECK(input.read() == rounded);
}

TEST_CASE("cpu bf16 keeps what is not finite", "[cpu][bf16]") {
  const Graph graph = carrier_graph();
  cpu::CpuBackend backend({1, std::nullopt, Precision::bf16});
  Activation a(backend, graph, 1);
  Vector values(180, 1.0);
  values[0] = std::nan("");
  values[1] = std::numeric_limits<double>::infinity();
  a.write(values);
  CHECK(std::isnan(a.read()[0]));
  CHECK(std::isinf(a.read()[1]));
}

/// The tests' build runs this one with and without ONEDNN_MAX_CPU_ISA=AVX2.
TEST_CASE("cpu bf16 is taken with AVX-512 and refused in words without", "[cpu][bf16-or-not]") {
  const cpu::CpuOptions options{1, std::nullopt, Precision::bf16};
  if (has_avx512()) {
    CHECK_NOTHROW(cpu::CpuBackend(options));
  } else {
    CHECK_THROWS_AS(cpu::CpuBackend(options), InputError);
    CHECK_THROWS_WITH(cpu::CpuBackend(options), Catch::Contains("--precision bf16") &&
                                                    Catch::Contains("AVX-512") &&
                                                    Catch::Contains("--precision fp32"));
  }
  CHECK_NOTHROW(cpu::CpuBackend({1, std::nullopt, Precision::fp32}));
}

}  // namespace
}  // namespace rueda::test
