#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "mpi/session/communicator.hpp"
#include "mpi/session/watchdog.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/model/graph.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda {

/// The sums of a run's gradients, for a GradientReducer.
struct GradientSums {
  std::unique_ptr<AllReduce> all_reduce;
  std::vector<std::size_t> bucket_ends;  ///< plan_buckets
  std::string warning;                   ///< one line, or empty
};

/// Collective: chooses transport, buckets and all-reduce as `run.config` says, and records them in
/// `run`. Keeps `world` and the backend's reduce device. Throws InputError.
GradientSums open_gradient_sums(Communicator& world, RunRecord& run, const Graph& graph,
                                Backend& backend);

/// Ends the run where a message takes longer than --stall-seconds. Null where none is wanted.
std::unique_ptr<Watchdog> watch_sums(const Communicator& world, const TrainConfig& config,
                                     const ReduceJournal& journal);

}  // namespace rueda
