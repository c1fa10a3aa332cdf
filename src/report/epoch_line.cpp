#include "rueda/report/epoch_line.hpp"

#include <spdlog/fmt/fmt.h>

#include "number_text.hpp"

namespace rueda {

std::string epoch_line(const EpochRecord& e, std::size_t epochs, std::size_t ranks) {
  const double step_seconds = e.seconds / static_cast<double>(e.steps);
  std::string line = fmt::format(
      "Epoch {}/{} - {}/{} - {} s - {} s/step - loss: {} - accuracy: {} - {} images/s", e.epoch,
      epochs, e.steps, e.steps, seconds_text(e.seconds), seconds_text(step_seconds),
      metric_text(e.train.loss), metric_text(e.train.accuracy), rate_text(e.images_per_second));
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
