#include "complaint.hpp"
#include "launcher_env.hpp"
#include "mpi/communicator.hpp"
#include "mpi/launch_check.hpp"
#include "mpi/session.hpp"
#include "train.hpp"

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
