#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "backend/bucket_schedule.hpp"
#include "mpi/sums/host_layout.hpp"
#include "reduce/cost_model.hpp"
#include "rueda/reduce/algorithm.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "tests/simulation/virtual_cluster.hpp"
#include "tests/simulation/virtual_links.hpp"

namespace rueda::test {

/// A machine, and how many ranks of it a virtual job has.
struct VirtualMachine {
  cost::Machine machine;
  int ranks = 1;
  bool memory_is_on_host = true;
};

/// A step of training, the same on every rank but for `factors`; seconds.
struct VirtualStep {
  std::vector<cost::Bucket> buckets;
  double forward = 0;
  double backward = 0;
  double update = 0;
  bool overlap = true;
  /// How much longer each rank computes; empty: all are alike.
  std::vector<double> factors{};
};

/// What the ranks did, from the moment at which all began until the last was done.
struct VirtualTimes {
  double seconds = 0;
  double messages = 0;  ///< that a mean rank sent
  double bytes = 0;     ///< of these
};

/// rueda's own sums on virtual ranks: the classes that training uses, with virtual links and
/// devices in place of MPI and memory.
class VirtualJob {
 public:
  explicit VirtualJob(const VirtualMachine& job);

  /// One sum of `bytes` by all ranks.
  VirtualTimes sum(const ReduceWay& way, std::size_t bytes);
  /// One step: each bucket is summed the way that the table says, as soon as it is complete and
  /// the one before is summed; without overlap after backward. (GradientReducer does so.)
  VirtualTimes step(const ReduceTable& table, const VirtualStep& step);

 private:
  /// Returns when all ranks have come.
  void meet(int rank);
  /// Collective: between the ranks that give the same color.
  std::unique_ptr<Exchange> split(int rank, int color);
  std::unique_ptr<Exchange> world(int rank);
  std::unique_ptr<AllReduce> make(const ReduceWay& way, int rank, ReduceDevice& device);
  /// `body` on every rank, with a device and new links of its own.
  VirtualTimes run(const std::function<void(int rank, VirtualDevice& device)>& body);

  VirtualMachine job_;
  HostLayout layout_;
  std::optional<VirtualCluster> cluster_;
  std::optional<VirtualLinks> links_;
  VirtualExchange::Members world_;
  std::vector<int> colors_;  ///< by rank, of the split that the ranks are in
  int arrived_ = 0;          ///< ranks in `meet`
};

}  // namespace rueda::test
