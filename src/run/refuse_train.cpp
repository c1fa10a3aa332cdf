#include "mpi/session/communicator.hpp"
#include "mpi/session/launch_check.hpp"
#include "mpi/session/session.hpp"
#include "print_error.hpp"
#include "train.hpp"
#include "wiring/launcher_env.hpp"

namespace rueda {

void refuse_train(const Error& error) {
  Session session(ThreadLevel::funneled);
  check_launch(environment_variable, Communicator().size());
  Communicator world;
  try {
    together(world, [&error] { throw error; });
  } catch (const Error& agreed) {
    throw tell(agreed);
  }
}

}  // namespace rueda
