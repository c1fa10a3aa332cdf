#pragma once

#include <optional>

namespace rueda {

/// The value of an environment variable; null without it.
const char* environment_variable(const char* name);

/// This process's rank as its launcher (mpirun, srun ...) says in the environment, which is known
/// before MPI is up; 0 without a launcher.
int rank_by_launcher();

/// This process's number on its node, from the same source; nothing if no launcher says.
std::optional<int> local_rank();

/// Whether this process prints for all: the launcher's rank 0.
bool speaks_for_all();

/// True if the launcher started more than this process for the run.
bool has_peers();

}  // namespace rueda
