// Whole networks with and without fused additions, on backends that fuse them.
#include <catch2/catch.hpp>

#include "tests/support/gradient_check.hpp"
#include "tests/support/program_bench.hpp"
#include "tests/support/replica_bench.hpp"
#include "tests/support/small_graphs.hpp"

namespace rueda::test {
namespace {

constexpr int kSide = 9;
/// As those of a replica against the reference (replica_gradients_test.cpp).
constexpr double kNetworkTolerance = 2e-5;
constexpr double kKinkDistance = 1e-4;
constexpr float kScale = 0.125F;

Vector concatenated(const ProgramStep& step) {
  Vector all = step.gradients;
  all.insert(all.end(), step.statistics.begin(), step.statistics.end());
  return all;
}

void check_fusion(const SmallGraph& small, const Variant& variant) {
  const Graph graph = small.build(kSide);
  const Graph fused = open_backend_under_test(variant, Precision::fp32)->prepare(graph);
  const bool has_less = fused.nodes().size() < graph.nodes().size();
  CHECK(has_less == (small.name != "three readers"));
  const ImageSet images = random_images(8);
  const std::vector<std::uint32_t> indices = {1, 2, 7, 4};
  const ReferenceBatch batch = reference_batch(images, indices, kSide);
  const Vector parameters = smooth_parameters(graph, batch.input, batch.labels, kKinkDistance);
  const ReferenceStep expected =
      reference_step(graph, parameters, batch.input, batch.labels, static_cast<double>(kScale));
  const ProgramInput input{variant, images, indices, parameters, kScale};
  const ProgramStep plain = run_program(graph, input);
  const ProgramStep together = run_program(fused, input);
  check_gradients(graph, plain.gradients, expected.gradients, kNetworkTolerance);
  check_gradients(graph, together.gradients, expected.gradients, kNetworkTolerance);
  check_gradients(graph, together.gradients, plain.gradients, kNetworkTolerance);
  CHECK(together.loss == Approx(plain.loss).epsilon(kNetworkTolerance));
  CHECK(together.loss == Approx(expected.loss).epsilon(kNetworkTolerance));
  if (!has_less) CHECK(concatenated(together) == concatenated(plain));
}

TEST_CASE("fused networks have the gradients of the unfused ones", "[backend][replica]") {
  for (const Variant& variant : {variants().front(), repeatable_variant()}) {
    for (const SmallGraph& small : small_graphs()) {
      CAPTURE(variant.name, small.name);
      check_fusion(small, variant);
    }
  }
}

}  // namespace
}  // namespace rueda::test
