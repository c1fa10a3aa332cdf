#pragma once

namespace rueda {

/// This process's number in the run as its launcher (mpirun, srun ...) tells it in the environment,
/// which is known before MPI is up; 0 without a launcher.
int rank_by_launcher();

/// True on the one process that speaks for all while MPI is not up: the launcher's rank 0. Another
/// rank that alone has a faulty command line only ends with its exit code.
bool speaks_for_all();

}  // namespace rueda
