#pragma once

#include <functional>

#include "mpi/session/communicator.hpp"
#include "open_backend.hpp"

namespace rueda {

/// Collective. Has `backend`, not yet planned for, use the engines of --tuning-file. With
/// --tune-engines rank 0 measures them first: it hands a backend of its own to `plan`, which plans
/// all that training will need, and writes the file. Throws InputError alike on all ranks.
void settle_engines(Communicator& world, const TrainConfig& config, const BackendOptions& options,
                    Backend& backend, const std::function<void(Backend&)>& plan);

}  // namespace rueda
