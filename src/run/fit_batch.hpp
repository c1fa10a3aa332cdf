#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/replica.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/backend/memory_need.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/model/graph.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/config.hpp"
#include "rueda/train/run_record.hpp"
#include "train/run_plan.hpp"

namespace rueda {

/// The network to train, and where.
struct FitRequest {
  const TrainConfig& config;
  const Graph& graph;
  Backend& backend;
  AllReduce& all_reduce;
  const std::vector<std::size_t>& bucket_ends;  ///< of gradients that it sums at once
  const Dataset& data;
  std::string host;
  std::string uuid;  ///< of the GPU; empty without one: ranks of one host share its memory
  bool batch_is_fixed = false;  ///< by a run that is resumed: it is never halved
  /// In which proportions the ranks share a global batch, as plan_run takes them.
  std::vector<double> parts;
  /// Collective: chooses the engines that `backend` uses, once the batch is
  /// known. It may call `plan` to plan the same on another backend.
  std::function<void(const std::function<void(Backend&)>& plan)> choose_engines;
  /// Collective: called before all ranks plan, with what they will do.
  std::function<void(const std::function<void()>& plan)> prepare;
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
/// with the least room and the batch that would fit.
FittedReplica fit_replica(RankGroup& group, const FitRequest& request);

/// Collective: plans the replica anew for the parts of `request`, with the global
/// batch that it has. No trainer uses it meanwhile. Parts that do not fit into
/// every rank's memory leave it as it was, with a warning, and are limits from
/// then on.
void refit_replica(RankGroup& group, const FitRequest& request, FittedReplica& fitted);

}  // namespace rueda
