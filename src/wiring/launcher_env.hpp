#pragma once

#include <optional>

namespace rueda {

/// The value of an environment variable; null without it.
const char* environment_variable(const char* name);

/// This process's number in the run as its launcher (mpirun, srun ...) tells it in the environment,
/// which is known before MPI is up; 0 without a launcher.
int rank_by_launcher();

/// This process's number among those of its node, in the same way; nothing if no launcher says.
std::optional<int> local_rank();

/// True on the one process that speaks for all: the launcher's rank 0.
bool speaks_for_all();

/// True if the launcher started more than this process for the run.
bool has_peers();

}  // namespace rueda
