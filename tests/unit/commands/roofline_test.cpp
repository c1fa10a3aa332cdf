#include "commands/roofline.hpp"

#include <cstddef>
#include <string>

#include <catch2/catch.hpp>

#include "commands/summary.hpp"

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

// Since then the first convolution became faster: up to a tenth of a step (docs/results/h100.md).
TEST_CASE("roofline: the plan is near what an H100 measured, and not below", "[roofline]") {
  struct Measured {
    const char* model;
    int image_size;
    std::size_t batch;
    double images_per_second;
  };
  for (const Measured& m : {Measured{"resnet18", 32, 128, 51'136},
                            {"resnet18", 32, 512, 77'527},
                            {"resnet50v2", 128, 256, 20'991},
                            {"resnet50v2", 128, 1024, 23'888}}) {
    CAPTURE(m.model, m.batch);
    const double plan = planned("H100", m.model, m.batch, m.image_size);
    CHECK(plan > 0.97 * m.images_per_second);
    CHECK(plan < 1.13 * m.images_per_second);
  }
}

TEST_CASE("roofline: deeper networks and slower memory take longer", "[roofline]") {
  CHECK(planned("H100", "resnet101v2", 256) < planned("H100", "resnet50v2", 256));
  CHECK(planned("H100", "resnet50v2", 256) < planned("H200", "resnet50v2", 256));
}
