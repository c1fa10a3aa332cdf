#include "commands/roofline.hpp"

#include <cstddef>
#include <string>

#include <catch2/catch.hpp>

#include "commands/commands.hpp"

using namespace rueda;

namespace {

/// Images/s of a training step, as the last lines of the text have it.
double planned(const std::string& gpu, const std::string& model, std::size_t batch) {
  const std::string text = roofline_text({.model = model,
                                          .image_size = 128,
                                          .batch_per_rank = batch,
                                          .precision = Precision::bf16,
                                          .roofline = gpu});
  const std::string before = "images/s at the floor, ";
  return std::stod(text.substr(text.find(before) + before.size()));
}

}  // namespace

TEST_CASE("roofline: a convolution's share grows with its channels", "[roofline]") {
  double last = 0;
  for (double side = 4; side <= 4096; side *= 2) {
    CHECK(convolution_share(side) > last);
    last = convolution_share(side);
  }
  CHECK(last < 0.85);
  CHECK(convolution_share(96) == Approx(0.57).margin(0.005));
  CHECK(convolution_share(512) == Approx(0.78).margin(0.005));
}

// MLPerf Training v4.0: 7,160 images/s an H100 with ResNet-50 at 224 pixels. By the FLOPs of an
// image that is 25,800 with ResNet50V2 at 128 (docs/results/roofline.md).
TEST_CASE("roofline: the plan is no better than the record", "[roofline]") {
  for (const std::size_t batch : {64, 256, 1024, 4096}) {
    CAPTURE(batch);
    CHECK(planned("H100", "resnet50v2", batch) < 25'000);
  }
}

TEST_CASE("roofline: deeper networks and slower memory take longer", "[roofline]") {
  CHECK(planned("H100", "resnet101v2", 256) < planned("H100", "resnet50v2", 256));
  CHECK(planned("H100", "resnet50v2", 256) < planned("H200", "resnet50v2", 256));
}
