#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "backend/replica.hpp"
#include "base/clock.hpp"
#include "mpi/session/communicator.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/model/graph.hpp"
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

/// A data set that is the same on all ranks.
struct AgreedData {
  Dataset images;
  std::vector<std::string> lines;  ///< sizes and fingerprints of both splits, as in Manifest
};
/// Collective: every rank opens the data. Throws InputError, alike on all ranks,
/// also where they differ.
AgreedData agree_on_data(RankGroup& group, const TrainConfig& config);

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
/// Writes the weights of a run that has ended to `final_weights`, which is not empty. Where the
/// user did not ask for them, a disk that is full is told and ends nothing. Returns the file, or an
/// empty text where there is none.
std::string save_weights(const RunRecord& run, const Graph& graph, const HostWeights& weights);
HostWeights download_weights(Replica& replica);

/// Collective: every rank gets rank 0's parameters and statistics.
void broadcast_replica(Communicator& world, Replica& replica);

}  // namespace rueda
