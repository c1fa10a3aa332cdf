#include "rueda/train/train_input.hpp"

namespace rueda {

std::unique_ptr<TrainInput> make_train_input(const InputParts& parts) {
  return parts.config.input == InputMode::stream ? make_stream_input(parts)
                                                 : make_resident_input(parts);
}

}  // namespace rueda
