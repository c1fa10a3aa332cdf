#pragma once

#include "rueda/kernels/pixel.hpp"
#include "rueda/train/config.hpp"

namespace rueda {

/// The transform for training images, as the options say.
kernels::PixelTransform pixel_transform(const TrainConfig& config);

}  // namespace rueda
