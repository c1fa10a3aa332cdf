#include "train.hpp"

#include <optional>
#include <utility>

#include "log.hpp"
#include "mpi/session/communicator.hpp"
#include "mpi/session/launch_check.hpp"
#include "mpi/session/session.hpp"
#include "mpi/session/watchdog.hpp"
#include "rueda/reduce/reduce_journal.hpp"
#include "stop_signals.hpp"
#include "train_run.hpp"
#include "train_setup.hpp"
#include "wiring/device_choice.hpp"
#include "wiring/launcher_env.hpp"

namespace rueda {
namespace {

/// Watches what comes before and after training, where ranks wait for one that reads or plans:
/// start-up, the last files, the end of MPI. It waits ten times --stall-seconds.
class StartupWatchdog {
 public:
  void begin(const TrainConfig& config, const Communicator& world) {
    constexpr double kPatience = 10;
    if (config.stall_seconds == 0 || world.size() == 1) return;
    watchdog_.emplace(Watched{.rank = world.rank(),
                              .host = world.host(),
                              .journal = no_sums_,
                              .seconds = kPatience * static_cast<double>(config.stall_seconds)});
  }

 private:
  ReduceJournal no_sums_;
  std::optional<Watchdog> watchdog_;
};

}  // namespace

int run_train(const TrainConfig& config, std::string command_line) {
  StartupClock clock;
  const SelectedDevice device = select_device(config.backend);  // before MPI looks for one
  StartupWatchdog watchdog;  // outlives the session, whose end it watches too
  // A communication thread takes turns with this one.
  Session session(ThreadLevel::serialized, ThreadLevel::funneled);
  listen_for_stop_signals();
  {
    const Communicator launched;  // as in refuse_train, which other ranks may call
    check_launch(environment_variable, launched.size());
    watchdog.begin(config, launched);
  }
  ExitCode code = ExitCode::done;
  report_errors_of_ranks(session, [&] {
    code = execute_training(config, std::move(command_line), device, session.provided(), clock);
  });
  return static_cast<int>(code);
}

void refuse_train(const Error& error) {
  Session session(ThreadLevel::funneled);
  check_launch(environment_variable, Communicator().size());
  Communicator world;
  try {
    together(world, [&error] { throw error; });
  } catch (const Error& agreed) {
    throw report(agreed);
  }
}

}  // namespace rueda
