#include "rueda/display/epoch_line.hpp"

#include <cmath>

#include <spdlog/fmt/fmt.h>

#include "rueda/display/number_text.hpp"

namespace rueda {
namespace {

std::string score(const Score& s) {
  // A loss may become NaN in computing, an accuracy cannot.
  if (std::isnan(s.accuracy)) return "timed, nothing computed";
  return fmt::format("loss: {} - accuracy: {}", metric_text(s.loss), metric_text(s.accuracy));
}

}  // namespace

std::string epoch_line(const EpochRecord& e, std::size_t epochs, std::size_t ranks) {
  const double step_seconds = e.seconds / static_cast<double>(e.steps);
  std::string line =
      fmt::format("Epoch {}/{} - {}/{} - {} s - {} s/step - {} - {} images/s", e.epoch, epochs,
                  e.steps, e.steps, seconds_text(e.seconds), seconds_text(step_seconds),
                  score(e.train), rate_text(e.images_per_second));
  if (ranks > 1) {
    line +=
        fmt::format(" ({} per rank)", rate_text(e.images_per_second / static_cast<double>(ranks)));
  }
  if (e.test) {
    line += fmt::format(" - val_loss: {} - val_accuracy: {}", metric_text(e.test->loss),
                        metric_text(e.test->accuracy));
  }
  return line;
}

}  // namespace rueda
