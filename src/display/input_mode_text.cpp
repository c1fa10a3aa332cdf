#include "input_mode_text.hpp"

#include "rueda/display/number_text.hpp"

namespace rueda {

std::string input_mode_text(const TrainConfig& config) {
  if (config.input == InputMode::resident) return "resident: the device makes each batch";
  if (config.input_workers == 0) return "stream: the thread that trains prepares each batch";
  return "stream: batches prepared by " + counted(config.input_workers, "host thread") +
         " of each rank";
}

}  // namespace rueda
