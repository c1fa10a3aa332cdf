#include "train.hpp"

#include <utility>

#include "mpi/session/communicator.hpp"
#include "mpi/session/launch_check.hpp"
#include "mpi/session/session.hpp"
#include "rank_errors.hpp"
#include "startup_watchdog.hpp"
#include "stop_signals.hpp"
#include "train_run.hpp"
#include "train_setup.hpp"
#include "wiring/device_choice.hpp"
#include "wiring/launcher_env.hpp"

namespace rueda {

int run_train(const TrainConfig& config, std::string command_line) {
  StartupClock clock;
  const SelectedDevice device = select_device(config.backend);  // before MPI looks for one
  PatientWatch watch;  // outlives the session, whose end it watches too
  // A communication thread takes turns with this one.
  Session session(ThreadLevel::serialized, ThreadLevel::funneled);
  listen_for_stop_signals();
  {
    const Communicator launched;  // as in refuse_train, with which this may meet
    check_launch(environment_variable, launched.size());
    watch.begin(config, launched);
  }
  ExitCode code = ExitCode::done;
  speak_for_ranks(session, [&] {
    code = execute_training(config, std::move(command_line), device, session.provided(), clock);
  });
  return static_cast<int>(code);
}

}  // namespace rueda
