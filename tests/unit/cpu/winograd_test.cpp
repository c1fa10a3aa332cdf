#include "cpu/winograd.hpp"

#include <algorithm>

#include <catch2/catch.hpp>
#include <omp.h>

#include "base/element_hash.hpp"
#include "cpu/context.hpp"
#include "cpu/parallel.hpp"
#include "tests/support/reference_ops.hpp"
#include "tests/support/rounding.hpp"

namespace rueda::test {
namespace {

/// A tensor's numbers in a layout of the CPU backend.
struct Map {
  ActivationView view;
  Memory memory;

  Map(const Tensor& t, std::size_t block)
      : view{std::size_t(t.c), std::size_t(t.h * t.w), block},
        memory(cpu::host_memory(t.size() * sizeof(float))) {
    for_each_place(t, [&](int n, int c, int y, int x) {
      memory.floats()[place(t, n, c, y, x)] = float(t.at(n, c, y, x));
    });
  }
  float* data() const { return memory.floats().data(); }
  Vector read(Tensor shape) const {
    for_each_place(shape, [&](int n, int c, int y, int x) {
      shape.at(n, c, y, x) = double(memory.floats()[place(shape, n, c, y, x)]);
    });
    return shape.values;
  }

 private:
  std::size_t place(const Tensor& t, int n, int c, int y, int x) const {
    return view.offset(std::size_t(n), std::size_t(c), std::size_t(y * t.w + x));
  }
};

struct Case {
  int batch, inputs, outputs, height, width;
};

/// Maps that are smaller than a tile, one, and not a whole number of them; tiles in every share of
/// a block; the last has more tiles than a strip takes at once.
const std::vector<Case> kCases = {{1, 32, 32, 4, 4},   {5, 32, 64, 7, 7},   {1, 96, 32, 9, 5},
                                  {5, 64, 32, 1, 3},   {1, 160, 32, 2, 13}, {29, 32, 32, 8, 11},
                                  {134, 32, 288, 1, 1}};

/// The three results of a case, as plain tensors.
struct Results {
  Vector output, data_gradient, weight_gradient;
  bool operator==(const Results&) const = default;
};

/// The numbers of a case; weights and gradients lie as in the arenas.
struct Data {
  ConvNode node;
  Tensor x, dy;
  Vector weight;

  explicit Data(const Case& c)
      : node{.filters = c.outputs, .kernel = 3, .stride = 1, .padding = 1},
        x(random_tensor(1, c.batch, {c.inputs, c.height, c.width})),
        dy(random_tensor(2, c.batch, {c.outputs, c.height, c.width})),
        weight(random_vector(3, std::size_t(9 * c.inputs * c.outputs))) {}

  /// `block` 0: channels last. The scratch area holds NaN before, and a guard behind.
  Results computed(std::size_t block, int threads) const {
    omp_set_num_threads(threads);
    const auto layout = [&](const Tensor& t) { return block == 0 ? std::size_t(t.c) : block; };
    const Map input(x, layout(x)), output_gradient(dy, layout(dy));
    const Map output(dy, layout(dy)), input_gradient(x, layout(x));
    const cpu::Winograd winograd(
        {std::size_t(x.n), std::size_t(x.h), std::size_t(x.w), std::size_t(x.c), std::size_t(dy.c)},
        input.view, output.view);
    constexpr std::size_t kGuard = 256;
    constexpr auto kPoison = std::byte{0xFF};
    const Memory scratch = cpu::host_memory(winograd.scratch_bytes() + kGuard);
    std::fill_n(scratch.data(), scratch.size(), kPoison);
    const std::vector<float> weights = to_floats(weight);
    std::vector<float> gradient(weights.size());
    float* const area = scratch.floats().data();
    winograd.forward(input.data(), weights.data(), output.data(), area);
    winograd.data_gradient(output_gradient.data(), weights.data(), input_gradient.data(), area);
    winograd.weight_gradient(input.data(), output_gradient.data(), gradient.data(), area);
    CHECK(std::count(scratch.data() + winograd.scratch_bytes(), scratch.data() + scratch.size(),
                     kPoison) == std::ptrdiff_t(scratch.size() - winograd.scratch_bytes()));
    return {output.read(dy), input_gradient.read(x), to_doubles(gradient)};
  }
};

/// The rounding of a number in a patch goes into all results of the patch. Their bound is therefore
/// that of the largest, for as many roundings as the sum has terms and the transforms of a patch
/// have, 36.
double excess_of_largest(const Vector& actual, const Vector& expected, const Vector& magnitude,
                         int terms) {
  const Vector largest(magnitude.size(), std::ranges::max(magnitude));
  return excess(actual, expected, largest, terms + 36);
}

TEST_CASE("winograd: the three sums of a convolution, as in double", "[cpu][winograd]") {
  for (const Case& c : kCases) {
    CAPTURE(c.batch, c.inputs, c.outputs, c.height, c.width);
    const Data d(c);
    const Results r = d.computed(0, 2);
    const Tensor x = magnitudes(d.x), dy = magnitudes(d.dy);
    const Vector weight = magnitudes(d.weight);
    CHECK(excess_of_largest(r.output, conv(d.x, d.weight, {}, d.node).values,
                            conv(x, weight, {}, d.node).values, 9 * c.inputs) <= 1);
    CHECK(excess_of_largest(r.data_gradient, conv_data_gradient(d.x, d.weight, d.node, d.dy).values,
                            conv_data_gradient(x, weight, d.node, dy).values, 9 * c.outputs) <= 1);
    CHECK(excess_of_largest(r.weight_gradient, conv_weight_gradient(d.x, d.node, d.dy),
                            conv_weight_gradient(x, d.node, dy),
                            c.batch * c.height * c.width) <= 1);
  }
}

TEST_CASE("winograd: the same bits from any number of threads and in any layout",
          "[cpu][winograd]") {
  for (const Case& c : kCases) {
    CAPTURE(c.batch, c.inputs, c.outputs, c.height, c.width);
    const Data d(c);
    const Results r = d.computed(0, 1);
    for (const int threads : {2, 3, 7}) CHECK(d.computed(0, threads) == r);
    for (const std::size_t block : {8U, 16U}) {
      if (cpu::Winograd::reads({.block = block})) CHECK(d.computed(block, 2) == r);
    }
  }
}

/// A number that was seen, so that the tests' build, which runs this one with and without
/// ONEDNN_MAX_CPU_ISA=AVX2, compares both. Another rounding in the algorithm changes it.
TEST_CASE("winograd: AVX2 and AVX-512 give the same bits", "[cpu][winograd]") {
  if (cpu::vector_bits() == 0) return;
  std::uint64_t hash = 0, index = 0;
  for (const Case& c : kCases) {
    const Results r = Data(c).computed(0, 2);
    for (const Vector& values : {r.output, r.data_gradient, r.weight_gradient})
      for (const double value : values) hash += kernels::element_hash(index++, float(value));
  }
  CHECK(hash == 0x30c3202f8941ab1bU);
}

TEST_CASE("winograd: a vector of channels lies together", "[cpu][winograd]") {
  CHECK_FALSE(cpu::Winograd::reads({.block = 1}));
  CHECK(cpu::Winograd::reads({.block = 16}));
  CHECK(cpu::Winograd::reads({.block = cpu::Winograd::kChannels}));
}

}  // namespace
}  // namespace rueda::test
