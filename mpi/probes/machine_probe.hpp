#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/clock.hpp"
#include "mpi/sums/host_layout.hpp"
#include "reduce/cost_model.hpp"
#include "rueda/reduce/exchange.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/reduce/reduce_device.hpp"

namespace rueda {

/// Where costs are measured; all of it outlives the measurement.
struct ProbePlace {
  RankGroup& world;
  ReduceDevice& device;
  const HostLayout& layout;
  /// Collective over all: between the ranks that give the same `color`, in their order.
  std::function<std::unique_ptr<Exchange>(int color)> split;
  /// Seconds since some moment.
  std::function<double()> now = [watch = Stopwatch()] { return watch.seconds(); };
  std::size_t most_floats = std::size_t{4} << 20;  ///< of a message or addition
};

/// Collective: what messages and additions cost here, for the cost model; the
/// same on all ranks, of which the slowest counts. All ranks of a host send at
/// once, each to its right neighbour there; then each to the rank of its place on
/// the next host; then one rank of each host alone, which shows how much ranks of
/// a host share its links, and of more than two hosts in pairs. Messages are of
/// one float, so long that they take four times as long, and longer ones, up to
/// 16 MiB or 20 ms, which show the bandwidth; between hosts also a little below and above 64 KiB;
/// those in pairs have 4 MiB at least. Takes some tenths of a second, and on links of milliseconds
/// as long as about a hundred messages, on links below 1 Gbit/s as long as four of 4 MiB. Throws
/// RunError.
cost::Machine measure_machine(const ProbePlace& place);

}  // namespace rueda
