#pragma once

#include <cstddef>
#include <string>

#include "rueda/train/run_record.hpp"

namespace rueda {

/// The line of an epoch in the shape that Keras users know, without a line end:
/// `Epoch 2/3 - 20/20 - 6.412 s - 0.321 s/step - loss: 1.2345 - accuracy: 0.5512 - 798 images/s
/// (399 per rank) - val_loss: 1.1000 - val_accuracy: 0.6000`. The time is that of training steps
/// only; the last two appear where the epoch was evaluated.
std::string epoch_line(const EpochRecord& epoch, std::size_t epochs, std::size_t ranks);

}  // namespace rueda
