#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "mpi/session/communicator.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/backend/replica.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/model/graph.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/config.hpp"
#include "rueda/train/run_record.hpp"
#include "rueda/train/timings.hpp"
#include "train/run_plan.hpp"

namespace rueda {

/// Itemises the start-up: each lap is the time since the previous one.
class StartupClock {
 public:
  void lap(const std::string& item);
  /// Moves `seconds` of the last lap to an item of its own.
  void carve(const std::string& item, double seconds);
  const std::vector<std::pair<std::string, double>>& items() const noexcept { return items_; }
  const Stopwatch& watch() const noexcept { return watch_; }

 private:
  Stopwatch watch_;
  Stopwatch lap_;
  std::vector<std::pair<std::string, double>> items_;
};

/// Reads or draws the data and applies --data-limit. Logs what is odd about it.
/// Throws InputError.
Dataset open_data(const TrainConfig& config);

/// Sizes and fingerprints of both splits: what ranks compare.
std::vector<std::string> data_lines(const Dataset& data);

/// Fills in what is known before the first step of what is trained, and on what.
void describe_training(RunRecord& run, const Dataset& data, const Graph& graph,
                       const RunPlan& plan);

/// Collective: every rank's facts, on every rank. Number and host come from `world`.
std::vector<RankInfo> gather_rank_infos(Communicator& world, RankInfo mine);

/// Parameters and running statistics of a replica, in host memory.
using HostWeights = std::pair<std::vector<float>, std::vector<float>>;
void upload_weights(Replica& replica, const HostWeights& weights);

/// Those of a weights file.
HostWeights load_weights(const Graph& graph, const std::string& file);
/// Writes the weights of a run that has ended to `final_weights`. Where the user
/// did not ask for them, a disk that is full is told and ends nothing.
void save_weights(const RunRecord& run, const Graph& graph, Replica& replica);

/// Collective: every rank gets rank 0's parameters and statistics.
void broadcast_replica(Communicator& world, Replica& replica);

/// Now, in UTC, as ISO 8601.
std::string utc_now();

/// Collective: the --bucket-mb that is best, the same on all ranks. Measures a
/// backward pass over this rank's share of a full step, and sums of
/// two lengths; the slowest rank counts. Leaves zeros in the gradient arena.
double measure_bucket_mb(RankGroup& group, const TrainConfig& config,
                         const std::optional<TimedCompute>& timed, const RunPlan& plan,
                         const ImageSet& images, Replica& replica, AllReduce& all_reduce);

/// What to train, and where.
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
};

/// Collective: plans the replica, and allocates it only if all of the training
/// fits into what every rank has free. Else --on-oom halves the batch of all
/// ranks until it fits, or every rank throws an InputError that names the rank
/// with the least room and the batch that would fit.
FittedReplica fit_replica(RankGroup& group, const FitRequest& request);

}  // namespace rueda
