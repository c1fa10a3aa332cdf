#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "mpi/session/communicator.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/model/graph.hpp"
#include "rueda/reduce/algorithm.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/train/config.hpp"
#include "run/wiring/transport.hpp"

namespace rueda {

/// The wanted all-reduce. The same on all ranks.
struct ReduceSettings {
  Algorithm algorithm = Algorithm::ring;
  ReduceOrder order = ReduceOrder::ring;
  std::size_t segment_bytes = 0;  ///< 0: by a rule
  Wire wire = Wire::fp32;
  bool verify_messages = false;  ///< each carries a check sum
  /// The table that `automatic` had before the run was resumed (table_text); empty: it chooses.
  std::string earlier_table = {};
  InjectedFault fault = {};  ///< of a message; other kinds have no effect here
};

/// The settings of `config`.
ReduceSettings reduce_settings(const TrainConfig& config);

/// Ranks and memory of an all-reduce; all of it outlives the all-reduce.
struct ReducePlace {
  Communicator& world;
  ReduceDevice& device;
  Transport transport = Transport::host;
  /// The longest arena that will be summed: AllReduce::arena() has that many
  /// floats where it has any.
  std::size_t arena_floats = 0;
};

/// Collective. Throws InputError, alike on all ranks, for an algorithm that is
/// impossible here. `automatic` measures messages and additions where costs decide,
/// and takes an earlier table if that is possible here. With verified messages it
/// takes sums that send messages.
std::unique_ptr<AllReduce> make_all_reduce(const ReduceSettings& settings,
                                           const ReducePlace& place);

/// Collective: ncclAllReduce over `ranks`, each of which has `device`, a GPU of
/// its own. Throws InputError if this program was built without NCCL or
/// gradients are not on GPUs. Both outlive it.
std::unique_ptr<AllReduce> make_nccl(Communicator& ranks, ReduceDevice& device);

/// The sums of a run's gradients, for a GradientReducer.
struct GradientSums {
  std::unique_ptr<AllReduce> all_reduce;
  double bucket_mb = 0;                  ///< the most that a bucket holds; 0: everything
  std::vector<std::size_t> bucket_ends;  ///< plan_buckets
  Transport transport = Transport::host;
  std::string table;         ///< of `auto` (table_text); empty: something else was asked for
  std::string name;          ///< for people: "ring", "ring, fixed order", "auto (shared)" ...
  std::string other_choice;  ///< what `auto` would take instead; empty: the same
};

/// Cuts the gradients into buckets of at most `mb` MB; 0: into one.
void cut_buckets(GradientSums& sums, double mb, const TrainConfig& config, const Graph& graph,
                 int ranks);
/// Bytes of each bucket.
std::vector<std::size_t> sizes_of_buckets(const std::vector<std::size_t>& ends);

/// Collective: chooses transport, buckets and all-reduce as `config` says.
/// Keeps `world` and the backend's reduce device. Throws InputError. Where sizes
/// of buckets are to be `measured`, there is one bucket. `earlier_table`: as of
/// ReduceSettings.
GradientSums open_gradient_sums(Communicator& world, const TrainConfig& config, bool measured,
                                const Graph& graph, Backend& backend,
                                const std::string& earlier_table = "");

}  // namespace rueda
