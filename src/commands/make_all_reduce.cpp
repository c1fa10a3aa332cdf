#include "make_all_reduce.hpp"

#include "mpi/fixed_order_all_reduce.hpp"
#include "mpi/mpi_all_reduce.hpp"
#include "mpi/ring_all_reduce.hpp"
#include "reduce_table_file.hpp"
#include "rueda/core/error.hpp"

namespace rueda {
namespace {

std::unique_ptr<Exchange> make_exchange(const ReducePlace& place) {
  if (place.transport == Transport::staged) {
    return std::make_unique<StagedExchange>(place.world, place.device);
  }
  return std::make_unique<DirectExchange>(place.world);
}

}  // namespace

ReduceSettings reduce_settings(const TrainConfig& config) {
  return {.algorithm = config.all_reduce,
          .order = config.reduce_order,
          .segment_bytes = config.segment_kb * 1024,
          .wire = config.wire,
          .error_feedback = config.wire_error_feedback,
          .table = {}};
}

ReduceSettings settle_reduce_settings(Communicator& world, const TrainConfig& config,
                                      std::string_view backend, Transport transport) {
  ReduceSettings settings = reduce_settings(config);
  if (config.reduce_table.empty()) return settings;
  const TablePlace here{layout_of(all_gather_text(world, world.host())), std::string(backend),
                        to_string(transport)};
  settings.table = load_reduce_table(world, config.reduce_table, here);
  return settings;
}

std::unique_ptr<AllReduce> make_all_reduce(const ReduceSettings& settings,
                                           const ReducePlace& place) {
  auto exchange = make_exchange(place);
  if (settings.algorithm == Algorithm::mpi) {
    return std::make_unique<MpiAllReduce>(std::move(exchange), place.device);
  }
  if (settings.algorithm != Algorithm::ring && settings.algorithm != Algorithm::automatic) {
    throw InputError("--all-reduce " + std::string(to_string(settings.algorithm)) +
                     ": not available here; use ring or mpi");
  }
  if (settings.order == ReduceOrder::fixed) {
    return std::make_unique<FixedOrderAllReduce>(std::move(exchange), place.device);
  }
  return std::make_unique<RingAllReduce>(std::move(exchange), place.device);
}

std::string describe_reduce(const ReduceSettings& settings) {
  if (settings.algorithm == Algorithm::mpi) return "MPI_Allreduce";
  return settings.order == ReduceOrder::fixed ? "ring, fixed order" : "ring";
}

}  // namespace rueda
