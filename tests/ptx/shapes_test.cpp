#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "cuda/kernels/kernels.hpp"
#include "tests/standin/standin.hpp"

// How launches are cut into blocks, as data: no result depends on it, but the speed does. The
// shapes are those of ResNet-18 at 32 x 32 and of ResNet50V2 at 128 x 128.

namespace {

using namespace rueda;
using cuda::Element;

/// Memory that no kernel touches, since none runs.
template <typename T>
T* somewhere() {
  return reinterpret_cast<T*>(std::uintptr_t{1} << 40U);
}

/// The lines of the table.
class Shapes {
 public:
  template <typename F>
  void add(const std::string& call, const F& launch) {
    standin_note_launches(false);
    launch();
    for (const StandinLaunch& one : standin_take_launches()) {
      text_ += fmt::format("{},{} x {},{} x {}\n", call, one.grid[0], one.grid[1], one.block[0],
                           one.block[1]);
      (one.early ? early_ : in_turn_) += 1;
    }
  }
  const std::string& text() const { return text_; }
  /// Kernels that may begin before the one before has ended, and those that may not.
  int early() const { return early_; }
  int in_turn() const { return in_turn_; }

 private:
  int early_ = 0;
  int in_turn_ = 0;
  std::string text_ = "launch,grid,block\n";
};

const char* name_of(Element element) { return element == Element::bf16 ? "bf16" : "fp32"; }

/// Of an activation with a row per pixel.
void add_columns(Shapes& shapes, Element element, std::size_t rows, int channels) {
  const auto add = [&](const char* name, const auto& launch) {
    shapes.add(fmt::format("{} {} {} x {}", name, name_of(element), rows, channels), launch);
  };
  float* const floats = somewhere<float>();
  void* const numbers = floats;
  auto* const scratch = somewhere<cuda::SumScratch>();
  cuda::NormWork norm{.element = element,
                      .rows = rows,
                      .channels = channels,
                      .x = numbers,
                      .gamma = floats,
                      .beta = floats,
                      .statistics = floats,
                      .relu = true,
                      .y = numbers,
                      .scratch = scratch};
  cuda::NormGradient gradient{.dy = numbers, .dx = numbers, .dgamma = floats, .dbeta = floats};
  cuda::NormGradient summing = gradient;
  summing.input_sums[0] = floats;
  add("norm_statistics", [&] { cuda::norm_statistics(norm, nullptr); });
  add("norm_apply", [&] { cuda::norm_apply(norm, nullptr); });
  add("norm_gradient_sums", [&] { cuda::norm_gradient_sums(norm, gradient, nullptr); });
  add("norm_input_gradient", [&] { cuda::norm_input_gradient(norm, gradient, nullptr); });
  add("norm_input_gradient with sums", [&] { cuda::norm_input_gradient(norm, summing, nullptr); });
  norm.residual = numbers;
  gradient.residual_gradient = numbers;
  add("norm_apply with residual", [&] { cuda::norm_apply(norm, nullptr); });
  add("norm_gradient_sums with residual",
      [&] { cuda::norm_gradient_sums(norm, gradient, nullptr); });
  add("column_sums",
      [&] { cuda::column_sums(element, floats, numbers, rows, channels, scratch, nullptr); });
  add("add_bias",
      [&] { cuda::add_bias(element, numbers, numbers, floats, numbers, rows, channels, nullptr); });
}

/// Of elements one after the other.
void add_flat(Shapes& shapes, std::size_t count) {
  const auto add = [&](const char* name, const auto& launch) {
    shapes.add(fmt::format("{} {}", name, count), launch);
  };
  float* const floats = somewhere<float>();
  auto* const halves = somewhere<kernels::Bfloat16>();
  add("add_activations bf16",
      [&] { cuda::add_activations(Element::bf16, halves, halves, halves, count, true, nullptr); });
  add("to_bf16", [&] { cuda::to_bf16(halves, floats, count, nullptr); });
  add("to_fp32", [&] { cuda::to_fp32(floats, halves, count, nullptr); });
  add("accumulate", [&] { cuda::accumulate(floats, floats, count, nullptr); });
  cuda::NarrowGradients narrow{halves, {}};
  for (std::size_t k = 0; k < 20; ++k)
    narrow.slices.push_back({k * count / 20 + 1, k * count / 400});
  add("sgd_update with gradients in bf16",
      [&] { cuda::sgd_update(floats, floats, floats, narrow, halves, count, {}, nullptr); });
  add("to_fp32 of slices", [&] { cuda::to_fp32(floats, halves, narrow.slices, nullptr); });
  add("sgd_update",
      [&] { cuda::sgd_update(floats, floats, floats, {}, halves, count, {}, nullptr); });
  const std::size_t ends[] = {count};
  add("square_sums", [&] {
    cuda::square_sums(floats, ends, somewhere<double>(), somewhere<cuda::SumScratch>(), nullptr);
  });
  const float* const peers[] = {floats, floats};
  float* const targets[] = {floats, floats};
  add("peer_sum", [&] { cuda::peer_sum(peers, targets, count, nullptr); });
}

void add_images(Shapes& shapes) {
  void* const numbers = somewhere<float>();
  const cuda::PoolWork pool{.element = Element::bf16,
                            .in = {256, 64, 64, 64},
                            .out = {256, 64, 32, 32},
                            .kernel = 3,
                            .stride = 2,
                            .padding = 1};
  auto* const winners = somewhere<std::uint8_t>();
  shapes.add("max_pool bf16 256 x 64 x 64 x 64",
             [&] { cuda::max_pool(pool, numbers, numbers, winners, nullptr); });
  shapes.add("max_pool_backward bf16 256 x 64 x 64 x 64",
             [&] { cuda::max_pool_backward(pool, numbers, numbers, winners, nullptr); });
  const cuda::PoolWork whole{
      .element = Element::bf16, .in = {128, 512, 4, 4}, .out = {128, 512, 1, 1}};
  shapes.add("global_average_pool bf16 128 x 512 x 4 x 4",
             [&] { cuda::global_average_pool(whole, somewhere<float>(), numbers, nullptr); });
  shapes.add("dense_forward 128 x 512 to 10", [&] {
    float* const floats = somewhere<float>();
    cuda::dense_forward(floats, floats, floats, floats, 128, 512, 10, nullptr);
  });
  shapes.add("softmax_cross_entropy 128 x 10", [&] {
    float* const floats = somewhere<float>();
    cuda::softmax_cross_entropy(floats, somewhere<std::int32_t>(), 128, 10, 0, floats, floats,
                                somewhere<kernels::RowLoss>(), nullptr);
  });
}

Shapes all_shapes() {
  Shapes shapes;
  for (const auto& [rows, channels] :
       {std::pair{131'072, 64}, {8192, 256}, {2048, 512}, {1'048'576, 64}, {4096, 2048}, {77, 10}})
    for (const Element element : {Element::fp32, Element::bf16})
      add_columns(shapes, element, std::size_t(rows), channels);
  for (const std::size_t count : {100, 100'000, 11'173'962}) add_flat(shapes, count);
  add_images(shapes);
  return shapes;
}

/// The file of the table, which RUEDA_SHAPES_TABLE names.
std::string table_path() {
  const char* path = std::getenv("RUEDA_SHAPES_TABLE");
  REQUIRE(path != nullptr);
  return path;
}

TEST_CASE("launches are cut into blocks as the table says") {
  std::ifstream file(table_path());
  const std::string table(std::istreambuf_iterator<char>(file), {});
  INFO(
      "If that is meant: RUEDA_SHAPES_TABLE=tests/cuda/launches.csv build/tests/ptx/shapes_ptx "
      "'[.write]' writes it anew");
  CHECK(all_shapes().text() == table);
}

TEST_CASE("every kernel may begin early, or none") {
  const Shapes shapes = all_shapes();
  CHECK(std::max(shapes.early(), shapes.in_turn()) > 100);
  CHECK((std::getenv("RUEDA_CUDA_PDL") == nullptr ? shapes.in_turn() : shapes.early()) == 0);
}

TEST_CASE("writes the table of launches", "[.write]") {
  std::ofstream(table_path()) << all_shapes().text();
}

}  // namespace
