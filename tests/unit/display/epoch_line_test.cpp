#include <limits>

#include <catch2/catch.hpp>

#include "rueda/display/progress.hpp"

using namespace rueda;

namespace {

EpochRecord example() {
  EpochRecord e;
  e.epoch = 2;
  e.steps = 20;
  e.train = {1.23449, 0.55118, 5117, 0};
  e.seconds = 6.4118;
  e.images_per_second = 5117 / 6.4118;
  return e;
}

}  // namespace

TEST_CASE("epoch line: as Keras users know it, with real precision", "[epoch_line]") {
  CHECK(epoch_line(example(), 3, 2) ==
        "Epoch 2/3 - 20/20 - 6.412 s - 0.321 s/step - loss: 1.2345 - accuracy: 0.5512 - "
        "798 images/s (399 per rank)");
}

TEST_CASE("epoch line: evaluation comes last under Keras's names", "[epoch_line]") {
  EpochRecord e = example();
  e.test = Score{1.1, 0.6, 1000, 0.5};
  CHECK_THAT(epoch_line(e, 3, 2),
             Catch::EndsWith("(399 per rank) - val_loss: 1.1000 - val_accuracy: 0.6000"));
}

TEST_CASE("epoch line: one rank needs no rate per rank", "[epoch_line]") {
  CHECK_THAT(epoch_line(example(), 3, 1), Catch::EndsWith("- 798 images/s"));
}

TEST_CASE("epoch line: short times keep three digits, long ones all", "[epoch_line]") {
  EpochRecord e = example();
  e.seconds = 0.02345;
  e.images_per_second = 12.345;
  e.train.loss = 0.00021;
  const std::string line = epoch_line(e, 3, 2);
  CHECK_THAT(line, Catch::Contains(" - 0.0234 s - 0.00117 s/step - ") ||
                       Catch::Contains(" - 0.0235 s - 0.00117 s/step - "));
  CHECK_THAT(line, Catch::Contains("12.3 images/s (6.17 per rank)"));
  CHECK_THAT(line, Catch::Contains("loss: 2.1000e-04"));
  e.seconds = 4321.0987;
  CHECK_THAT(epoch_line(e, 3, 2), Catch::Contains(" - 4321.099 s - 216.055 s/step - "));
}

TEST_CASE("epoch line: a loss that is no number is shown as such", "[epoch_line]") {
  EpochRecord e = example();
  e.train.loss = std::numeric_limits<double>::quiet_NaN();
  CHECK_THAT(epoch_line(e, 3, 2), Catch::Contains("loss: nan"));
}

TEST_CASE("epoch line: where nothing was computed, no score is shown", "[epoch_line]") {
  EpochRecord e = example();
  e.train.loss = e.train.accuracy = std::numeric_limits<double>::quiet_NaN();
  CHECK(epoch_line(e, 3, 2) ==
        "Epoch 2/3 - 20/20 - 6.412 s - 0.321 s/step - timed, nothing computed - "
        "798 images/s (399 per rank)");
}
