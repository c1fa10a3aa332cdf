#include "gradient_road.hpp"

#include "make_all_reduce.hpp"
#include "mpi/session/mpi_turn.hpp"
#include "reduce_table_file.hpp"
#include "rueda/backend/bucket_plan.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "transport.hpp"

namespace rueda {

GradientRoad::GradientRoad(Communicator& world, const TrainConfig& config, const Graph& graph,
                           Backend& backend)
    : world_(world),
      stall_seconds_(static_cast<double>(config.stall_seconds)),
      bucket_ends_(plan_buckets(
          graph, {.most_bytes = bucket_bytes(config), .tail_apart = config.wire != Wire::fp32})) {
  ReduceDevice& device = backend.reduce_device();
  const TransportDecision decision = settle_transport(world, config.transport, device);
  transport_ = to_string(decision.transport);
  warning_ = decision.warning;
  const ReduceSettings settings =
      settle_reduce_settings(world, config, backend.name(), decision.transport);
  if (!config.reduce_table.empty()) table_hash_ = rows_hash(settings.table);
  all_reduce_ = make_all_reduce(
      settings, {world, device, decision.transport, GradientLayout(graph).memory()});
  description_ = describe_reduce(settings, *all_reduce_);
}

void GradientRoad::open(Replica& replica, bool overlaps) {
  replica.announce_buckets(bucket_ends_);
  const SyncParts parts{replica, *all_reduce_, bucket_ends_};
  sync_ = overlaps ? make_overlapped_sync(parts, {take_mpi_turn, give_mpi_turn})
                   : make_plain_sync(parts);
}

void GradientRoad::warm_up() {
  sync_->begin(0, false);
  sync_->complete();
  for (std::size_t i = 0; i < sync_->buckets(); ++i) sync_->wait(i);
  sync_->end();
  sync_->take_records();
}

void GradientRoad::describe(RunRecord& run) const {
  run.all_reduce = description_;
  run.reduce_table_hash = table_hash_;
  run.transport = transport_;
  run.gradient_bytes = bucket_ends_.back() * sizeof(float);
  for (std::size_t i = 0; i < sync_->buckets(); ++i) {
    run.bucket_bytes.push_back(sync_->bucket(i).size() * sizeof(float));
  }
}

std::unique_ptr<Watchdog> GradientRoad::watch() {
  if (stall_seconds_ == 0 || world_.size() == 1) return nullptr;
  return std::make_unique<Watchdog>(Watched{.rank = world_.rank(),
                                            .host = world_.host(),
                                            .journal = sync_->journal(),
                                            .seconds = stall_seconds_});
}

}  // namespace rueda
