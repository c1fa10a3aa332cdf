#include "commands/roofline.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "backend/launches.hpp"
#include "backend/roof.hpp"
#include "commands/summary.hpp"
#include "model/gpu_fusion.hpp"
#include "model/registry.hpp"
#include "rueda/data/dataset.hpp"

using namespace rueda;

namespace {

/// Images/s of a training step, as the last lines of the text have it.
double planned(const std::string& gpu, const std::string& model, std::size_t batch,
               int image_size = 128) {
  TrainConfig train;
  train.model = {.name = model, .image_size = image_size};
  train.batch.per_rank = batch;
  train.device.precision = Precision::bf16;
  const std::string text = roofline_text({.train = train, .roofline = gpu});
  const std::string before = "images/s at the floor, ";
  return std::stod(text.substr(text.find(before) + before.size()));
}

void add(std::vector<Launch>& launches, int count, double bytes, Tensor written) {
  const Launch one{LaunchKind::copy, {{Tensor::input, bytes}}, {{written, 0}}};
  launches.insert(launches.end(), std::size_t(count), one);
}

/// By stage of ResNet-18, launches that read and write `tensors` of its activations.
void add_stages(std::vector<Launch>& launches, int tensors, const std::array<int, 4>& counts,
                Tensor written) {
  double bytes = 128 * 32 * 32 * 64 * 2;  // of one in bf16; half of it in each further stage
  for (const int count : counts) {
    add(launches, count, tensors * bytes, written);
    bytes /= 2;
  }
}

double microseconds(const std::vector<Launch>& launches) {
  const Roof roof = *roof_of("H100", Precision::bf16);
  double sum = 0;
  for (const Launch& launch : launches) sum += 1e6 * planned_seconds(launch, roof, Precision::bf16);
  return sum;
}

std::vector<Launch> convolutions_of_resnet18() {
  const Graph graph = fuse_additions(build_model("resnet18", 32, kClasses), kGpuFusions);
  std::vector<Launch> found;
  for (const StepLaunch& step : step_launches(graph, 128, Precision::bf16, Epilogue::adds))
    if (step.launch.is_convolution()) found.push_back(step.launch);
  REQUIRE(found.size() == 59);
  return found;
}

}  // namespace

TEST_CASE("roofline: a convolution's share grows with its channels", "[roofline]") {
  double last = 0;
  for (double side = 4; side <= 4096; side *= 2) {
    CHECK(convolution_share(side, Precision::bf16) > last);
    last = convolution_share(side, Precision::bf16);
    CHECK(convolution_share(side, Precision::tf32) < last);
  }
  CHECK(last < 0.99);
  CHECK(convolution_share(64, Precision::bf16) == Approx(0.556).margin(0.0005));
  CHECK(convolution_share(512, Precision::bf16) == Approx(0.902).margin(0.0005));
  // The estimate for fp32 and TF32: at most 0.85 of a product's rate, with the same side for half.
  for (const Precision precision : {Precision::fp32, Precision::tf32}) {
    CHECK(convolution_share(50, precision) == Approx(0.85 / 2));
    CHECK(convolution_share(1e9, precision) == Approx(0.85));
  }
}

// What ncu measured of each kind in a step of ResNet-18 with 128 images, without the trial of each
// plan: docs/results/h100.md#what-holds-it-back. These are the launches of the code that was
// measured (4c3bc36f), whatever a step launches now. The constants were fitted to these figures, so
// 10 % is how well three of them can describe five kinds of own kernels.
TEST_CASE("roofline: each kind of launch takes what an H100 measured, within a tenth",
          "[roofline]") {
  std::vector<Launch> statistics, apply, gradient_sums, input_gradient, others;
  add_stages(statistics, 1, {5, 5, 5, 5}, Tensor::statistics);
  add_stages(apply, 2, {3, 3, 3, 3}, Tensor::output);
  add_stages(apply, 3, {2, 2, 2, 2}, Tensor::output);  // with a residual
  add_stages(gradient_sums, 2, {2, 3, 3, 3}, Tensor::gamma_gradient);
  add_stages(gradient_sums, 3, {1, 0, 0, 0}, Tensor::gamma_gradient);  // of two readers' gradients
  add_stages(gradient_sums, 4, {0, 0, 0, 1}, Tensor::gamma_gradient);  // with a residual
  add_stages(gradient_sums, 5, {2, 2, 2, 1}, Tensor::gamma_gradient);  // with both
  add_stages(input_gradient, 3, {4, 5, 5, 5}, Tensor::input_gradient);
  add_stages(input_gradient, 4, {1, 0, 0, 0}, Tensor::input_gradient);
  constexpr double kParameters = 11'173'962;
  add(others, 4, kParameters / 4 * 5 * sizeof(float), Tensor::output);  // four buckets are updated
  add(others, 2, kParameters * 6, Tensor::output);                      // widened, narrowed
  add(others, 1, 0, Tensor::bias_gradient);
  add(others, 2, 2.4e6, Tensor::output);  // the pooling and its gradient
  add(others, 1, 1.2e6, Tensor::output);  // the batch
  add(others, 9, 0, Tensor::output);
  for (int i = 0; i < 3; ++i) others.push_back({LaunchKind::dense_forward, {}, {}, 1.3e6});

  double all = 0;
  const auto check = [&](const char* kind, const std::vector<Launch>& launches, double measured) {
    const double plan = microseconds(launches);
    CAPTURE(kind, plan, measured);
    CHECK(plan == Approx(measured).epsilon(0.1));
    all += plan;
  };
  check("convolutions", convolutions_of_resnet18(), 1479);
  check("statistics", statistics, 190);
  check("apply", apply, 156);
  check("gradient sums", gradient_sums, 366);
  check("input gradient", input_gradient, 187);
  check("others", others, 220);
  CHECK(all == Approx(2598).epsilon(0.05));
}

TEST_CASE("roofline: a launch is priced by its data", "[roofline]") {
  const Roof roof = *roof_of("H100", Precision::bf16);
  const auto seconds = [&](const Launch& l) { return planned_seconds(l, roof, Precision::bf16); };
  const std::vector<TensorBytes> read = {{Tensor::input, 1e8}}, none = {{Tensor::output, 0}};
  const double bytes = 1e8 / roof.bytes;
  CHECK(seconds({LaunchKind::norm_apply, read, none}) == Approx(kOtherSeconds + bytes / kOwnShare));
  for (const Tensor sum : {Tensor::statistics, Tensor::gamma_gradient, Tensor::bias_gradient,
                           Tensor::summed_bias_gradient, Tensor::passed_bias_gradient})
    CHECK(seconds({LaunchKind::column_sums, read, {{sum, 0}}}) ==
          Approx(kSumSeconds + bytes / kOwnShare));
  CHECK(seconds({LaunchKind::norm_finish_sums, read, {{Tensor::statistics, 0}}}) ==
        Approx(kOtherSeconds + bytes / kOwnShare));
  CHECK(seconds({LaunchKind::dense_forward, read, none, 1}) ==
        Approx(kProductSeconds + bytes / kOwnShare));
  CHECK(seconds({LaunchKind::conv_forward, read, none, 1, 64}) == Approx(kProductSeconds + bytes));
  CHECK(seconds({LaunchKind::conv_forward, read, {{Tensor::sums, 0}}, 1, 64}) ==
        Approx(kProductSeconds + bytes / kStatisticsShare));
  CHECK(seconds({LaunchKind::conv_forward, none, none, 1e12, 64}) ==
        Approx(kProductSeconds + 1e12 / roof.flops / convolution_share(64, Precision::bf16)));
}

TEST_CASE("roofline: deeper networks and slower memory take longer", "[roofline]") {
  CHECK(planned("H100", "resnet101v2", 256) < planned("H100", "resnet50v2", 256));
  CHECK(planned("H100", "resnet50v2", 256) < planned("H200", "resnet50v2", 256));
}
