#pragma once

#include <functional>

#include "rueda/backend/backend.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/config.hpp"
#include "run/wiring/open_backend.hpp"

namespace rueda {

/// Collective. Sets the engines of --tuning-file in `backend`, which has no
/// plans yet. With --tune-engines rank 0 measures them first: `plan` plans all
/// that training will need on a backend of rank 0's own, and rank 0 writes the
/// file, anew after each kind of work. Throws InputError alike on all ranks.
void agree_on_engines(RankGroup& world, const TrainConfig& config, const BackendOptions& options,
                      Backend& backend, const std::function<void(Backend&)>& plan);

}  // namespace rueda
