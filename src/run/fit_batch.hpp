#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "backend/replica.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/backend/memory_need.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/model/graph.hpp"
#include "rueda/train/config.hpp"
#include "rueda/train/run_record.hpp"
#include "run/job.hpp"
#include "run/wiring/make_all_reduce.hpp"
#include "run/wiring/open_backend.hpp"
#include "train/run_plan.hpp"

namespace rueda {

/// The network to train, and where. All of it outlives the training.
struct FitRequest {
  Job& job;
  const TrainConfig& config;
  const BackendOptions& options;  ///< `backend` was opened with them
  const Graph& graph;
  Backend& backend;
  const GradientSums& sums;
  const Dataset& data;
  bool batch_is_fixed = false;  ///< by a run that is resumed: it is never halved
};

/// A replica whose batch fits into memory.
struct FittedReplica {
  RunPlan plan;
  std::unique_ptr<Replica> replica;
  std::size_t asked = 0;  ///< samples of a micro-batch; 0: as many as fit
  MemoryNeed memory;      ///< of all that training will hold
  std::size_t room = 0;   ///< bytes that training may take on this rank
};

/// How many images each rank has, in the record.
void describe_parts(RunRecord& run, const FittedReplica& fitted);

/// Collective: plans the replica, and allocates it only if all of the training
/// fits into what every rank has free. Else --on-oom halves the batch of all
/// ranks until it fits, or every rank throws an InputError that names the rank
/// with the least room and the batch that would fit. Engines are chosen once the
/// batch is known. `shares`: images of each rank in a full step, whose proportions
/// are kept; empty: as the configuration says.
FittedReplica fit_replica(const FitRequest& request, const std::vector<std::size_t>& shares);

/// Collective: plans the replica anew for other shares of the global batch that
/// it has. No trainer uses it meanwhile. Shares that do not fit into every
/// rank's memory leave it as it was, with a warning, and are limits from then on.
void refit_replica(const FitRequest& request, const std::vector<std::size_t>& shares,
                   FittedReplica& fitted);

}  // namespace rueda
