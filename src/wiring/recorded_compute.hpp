#pragma once

#include <string>

namespace rueda {

/// Seconds that forward, loss and backward of one image took in a recorded run of `model` at
/// `image_size`: the median over the full steps of all ranks, without those of the first epoch if
/// there are others. `file` is its run.json, beside which its steps.csv lies. Throws InputError.
double recorded_image_seconds(const std::string& file, const std::string& model, int image_size);

}  // namespace rueda
