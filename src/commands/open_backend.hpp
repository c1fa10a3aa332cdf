#pragma once

#include <memory>

#include "rueda/backend/backend.hpp"
#include "rueda/train/config.hpp"

namespace rueda {

/// Whether a run with this choice is to train on a GPU, if one is here. Asks the driver only where
/// the choice leaves it open.
bool wants_cuda(BackendChoice choice);

/// Throws InputError for a backend that is not to be had here, or that cannot compute in the
/// precision.
std::unique_ptr<Backend> open_backend(BackendChoice choice, Precision precision, int threads);

}  // namespace rueda
