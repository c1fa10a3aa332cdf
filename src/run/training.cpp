#include "run/training.hpp"

#include <utility>
#include <vector>

#include "launch/launcher.hpp"
#include "launch/stop_signals.hpp"
#include "mpi/session/watchdog.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "run/wiring/open_backend.hpp"

namespace rueda {
namespace {

/// One rank of a host reads its counters.
std::unique_ptr<DeviceMonitor> open_own_host_monitor(const Communicator& world) {
  if (world.local_rank() != 0) return nullptr;
  return open_host_monitor(environment_variable("RUEDA_POWERCAP"));
}

}  // namespace

void Training::train() {
  Communicator& world = parts_.job.world();
  const auto host = open_own_host_monitor(world);
  const auto monitor = open_monitor(parts_.job.uuid());
  Replica& replica = *parts_.fitted.replica;
  Console console(run_, parts_.job.speaks(), parts_.reducer.journal());
  RunCheckpoints checkpoints(parts_.job, replica, run_, parts_.data.lines);
  const auto save = [&](const auto& position, auto velocities) {
    note_time();
    checkpoints.save(position, velocities);
  };
  TrainerParts trainer = trainer_parts(console);
  trainer.monitor = monitor.get();
  trainer.host = host.get();
  trainer.save = save;
  trainer.refit = [this](const auto& shares) { refit(shares); };
  TrainLoop loop(trainer);
  parts_.resuming.restore(replica.backend(), loop.velocities());
  parts_.clock.lap("optimizer");
  introduce_ranks();
  parts_.resuming.compare_machines(run_);
  console.begin(run_);
  try {
    run_loop(loop);
    checkpoints.wait_for_writer();
    if (run_.outcome != "stopped" && !final_weights(run_.config).empty()) {
      parts_.job.on_rank_0(
          [&] { run_.kept_weights = save_weights(run_, parts_.graph, download_weights(replica)); });
    }
  } catch (const std::exception& error) {
    note_failure(console, error.what());
    throw;
  }
  note_time();
  console.end(run_);
}

TrainerParts Training::trainer_parts(TrainObserver& observer) {
  return {.config = parts_.config,
          .plan = parts_.fitted.plan,
          .group = parts_.job.world(),
          .replica = *parts_.fitted.replica,
          .reducer = parts_.reducer,
          .data = parts_.data.images,
          .observer = observer,
          .since_start = parts_.clock.watch(),
          .from = parts_.resuming.from(),
          .resumes = parts_.resuming.active(),
          .stop_requested = stop_requested};
}

void Training::note_failure(Console& console, const std::string& what) {
  watchdog_.reset();  // what follows waits for disks
  note_time();
  console.fail(run_, what);
  // This rank may never get to report it.
  if (parts_.reducer.busy()) print_error(what);
}

void Training::introduce_ranks() {
  self_.startup = parts_.clock.items();
  run_.ranks = gather_rank_infos(parts_.job.world(), self_);
}

void Training::run_loop(TrainLoop& loop) {
  parts_.job.on_rank_0([this] { write_run_files(run_); });  // an interruption leaves these
  watch_steps();
  loop.run(run_);
  watchdog_.reset();
}

void Training::watch_steps() {
  watchdog_ = watch(parts_.job.world(), parts_.config, parts_.reducer.journal(), 1);
}

void Training::refit(const std::vector<std::size_t>& shares) {
  watchdog_.reset();
  FittedReplica& fitted = parts_.fitted;
  refit_replica(parts_.request, shares, fitted);
  describe_parts(run_, fitted);
  const auto memory = all_gather(parts_.job.world(), fitted.memory);
  for (std::size_t rank = 0; rank < memory.size(); ++rank) run_.ranks[rank].memory = memory[rank];
  watch_steps();
}

}  // namespace rueda
