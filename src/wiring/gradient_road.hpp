#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "mpi/session/communicator.hpp"
#include "mpi/session/watchdog.hpp"
#include "rueda/backend/replica.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/train/config.hpp"
#include "rueda/train/gradient_sync.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda {

/// All that a run's gradients pass on their way from backward to the optimizer: how they reach MPI,
/// how they are cut into buckets, what sums these, and on which thread.
class GradientRoad {
 public:
  /// Collective: decides about everything but the thread. Keeps `world`.
  GradientRoad(Communicator& world, const TrainConfig& config, const Graph& graph,
               Backend& backend);

  AllReduce& all_reduce() { return *all_reduce_; }
  const std::vector<std::size_t>& bucket_ends() const { return bucket_ends_; }
  /// One line, or empty.
  const std::string& warning() const { return warning_; }

  /// From now on for the gradients of `replica`, which lives as long as sums are asked for;
  /// `overlaps`: on a thread of their own.
  void open(Replica& replica, bool overlaps);
  GradientSync& sync() { return *sync_; }
  /// Collective. The first sum opens connections and takes its scratch memory; on the zeros of a
  /// new arena it does no harm.
  void warm_up();
  /// Fills in what the record says of the all-reduce.
  void describe(RunRecord& run) const;
  /// Null where none is wanted.
  std::unique_ptr<Watchdog> watch();

 private:
  Communicator& world_;
  double stall_seconds_;
  std::string transport_;
  std::string description_;
  std::string table_hash_;
  std::string warning_;
  std::vector<std::size_t> bucket_ends_;
  std::unique_ptr<AllReduce> all_reduce_;
  std::unique_ptr<GradientSync> sync_;
};

}  // namespace rueda
