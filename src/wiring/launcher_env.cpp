#include "launcher_env.hpp"

#include <cstdlib>

#include "mpi/session/launch_check.hpp"

namespace rueda {

const char* environment_variable(const char* name) { return std::getenv(name); }

int rank_by_launcher() { return launcher_rank(environment_variable); }

std::optional<int> local_rank() { return launcher_local_rank(environment_variable); }

bool speaks_for_all() { return rank_by_launcher() == 0; }

bool has_peers() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "PMI_SIZE"}) {
    const char* size = std::getenv(name);
    if (size != nullptr) return std::atoi(size) > 1;
  }
  return false;
}

}  // namespace rueda
