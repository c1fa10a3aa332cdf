// What only bf16 has: buffers of 2-byte elements; and sums of buffers of either type. The
// operations in bf16 are tested with those in fp32, by the same checks.
#include <limits>

#include <catch2/catch.hpp>

#include "tests/support/bf16_rounding.hpp"
#include "tests/support/image_bench.hpp"
#include "tests/support/replica_bench.hpp"

namespace rueda::test {
namespace {

constexpr int kBatch = 2;

/// image -> carrier (10 channels, which no block and no vector fits) -> pool
Graph carrier_graph() {
  GraphBuilder g("carrier", {10, 3, 3});
  g.global_average_pool("pool", g.pad_shortcut("carrier", g.input(), 10, 1));
  return std::move(g).finish();
}

/// An activation of one node on a backend.
class Activation {
 public:
  Activation(Backend& backend, const Graph& graph, NodeId node)
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
  Backend& backend_;
  const Graph& graph_;
  NodeId node_;
  std::unique_ptr<Memory> memory_;
};

TEST_CASE("bf16 takes two bytes up to the global pooling, four from there", "[backend][bf16]") {
  const Graph graph = carrier_graph();
  for (const Variant& variant : variants()) {
    const auto bytes = [&](Precision precision, NodeId node) {
      return open_backend_under_test(variant, precision)->activation_bytes(graph, node, kBatch);
    };
    // The image's own channels may be padded in another way.
    CHECK(2 * bytes(Precision::bf16, 1) == bytes(Precision::fp32, 1));
    CHECK(bytes(Precision::bf16, 2) == bytes(Precision::fp32, 2));
  }
}

TEST_CASE("bf16 activations are written rounded and read as they are", "[backend][bf16]") {
  const Graph graph = carrier_graph();
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const auto backend = open_backend_under_test(variant, Precision::bf16);
    for (const NodeId node : {0, 1}) {
      Activation a(*backend, graph, node);
      const Vector values = random_vector(1, 180);
      a.write(values);
      CHECK(a.read() == as_stored(values, Precision::bf16));
    }
    Activation pooled(*backend, graph, 2);
    const Vector values = random_vector(2, 20);
    pooled.write(values);
    CHECK(pooled.read() == values);
  }
}

void check_sums(Precision precision) {
  const Graph graph = carrier_graph();
  for (const Variant& variant : variants()) {
    CAPTURE(variant.name);
    const auto backend = open_backend_under_test(variant, precision);
    for (const NodeId node : {1, 2}) {
      const Precision stored = node == 1 ? precision : Precision::fp32;
      const std::size_t count = node == 1 ? 180 : 20;
      const Vector x = as_stored(random_vector(3, count), stored);
      const Vector y = as_stored(random_vector(4, count), stored);
      Activation a(*backend, graph, node);
      Activation b(*backend, graph, node);
      a.write(x);
      b.write(y);
      backend->sum_gradients(graph, node, kBatch, a.data(), a.data(), b.data());
      Vector expected;
      for (std::size_t i = 0; i < count; ++i) {
        expected.push_back(static_cast<double>(static_cast<float>(x[i] + y[i])));
      }
      CHECK(a.read() == as_stored(expected, stored));
    }
  }
}

TEST_CASE_OF_PRECISION("sum of gradients, rounded once, in place", "[backend]", check_sums)

TEST_CASE("bf16 batches hold the rounded pixels", "[backend][bf16]") {
  // Resized, for the pixels alone are few enough that bf16 holds them.
  constexpr int side = 20;
  ImageBench bench(side, kBatch, Precision::bf16);
  const ImageSet images = random_images(4);
  const auto held = bench.backend().hold(images);
  const std::vector<std::uint32_t> indices = {3, 1};
  const DeviceLabels labels(bench.backend(), {0, 0});
  bench.backend().make_batch({held.get(), indices, plain_transform(side), 8, 6}, bench.input(),
                             labels.data());
  CHECK(labels.read() == std::vector<std::int32_t>{9, 3});
  const Vector exact = reference_batch(images, indices, side).input.values;
  const Vector rounded = as_stored(exact, Precision::bf16);
  const bool rounding_shows = rounded != exact;
  REQUIRE(rounding_shows);
  CHECK(bench.read_input() == rounded);
}

TEST_CASE("bf16 keeps what is not finite", "[backend][bf16]") {
  const Graph graph = carrier_graph();
  const auto backend = open_backend_under_test(Precision::bf16);
  Activation a(*backend, graph, 1);
  Vector values(180, 1.0);
  values[0] = std::nan("");
  values[1] = std::numeric_limits<double>::infinity();
  a.write(values);
  CHECK(std::isnan(a.read()[0]));
  CHECK(std::isinf(a.read()[1]));
}

}  // namespace
}  // namespace rueda::test
