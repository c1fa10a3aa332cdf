#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "mpi/session/communicator.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/reduce/reduce_table.hpp"
#include "rueda/train/config.hpp"
#include "transport.hpp"

namespace rueda {

/// What an all-reduce is to be like. The same on all ranks.
struct ReduceSettings {
  Algorithm algorithm = Algorithm::ring;
  ReduceOrder order = ReduceOrder::ring;
  std::size_t segment_bytes = 0;  ///< 0: by the table, else by a rule
  Wire wire = Wire::fp32;
  bool error_feedback = false;   ///< of a bf16 wire
  bool verify_messages = false;  ///< each carries a check sum
  InjectedFault fault = {};      ///< of a message, or of another kind, which is not put in here
  ReduceTable table;             ///< for `automatic`; no rows: by a rule
};
ReduceSettings reduce_settings(const TrainConfig& config);
/// Collective: the same with the table of --reduce-table, which has to fit ranks, `backend` and
/// `transport`. Throws InputError.
ReduceSettings settle_reduce_settings(Communicator& world, const TrainConfig& config,
                                      std::string_view backend, Transport transport);

/// Where it works; all of it outlives the all-reduce.
struct ReducePlace {
  Communicator& world;
  ReduceDevice& device;
  Transport transport = Transport::host;
  /// The longest arena that will be summed: AllReduce::arena() has that many floats where it has
  /// any.
  std::size_t arena_floats = 0;
};

/// Collective. Throws InputError, alike on all ranks, for what the place does not offer. Where
/// messages are verified, `automatic` means one that sends some.
std::unique_ptr<AllReduce> make_all_reduce(const ReduceSettings& settings,
                                           const ReducePlace& place);
/// For people: "ring", "ring, fixed order", "auto (shared)", ...
std::string describe_reduce(const ReduceSettings& settings, const AllReduce& made);

}  // namespace rueda
