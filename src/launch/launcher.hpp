#pragma once

#include <functional>
#include <optional>
#include <string>

// What the launcher (mpirun, srun ...) says in the environment, which is known
// before MPI is up.

namespace rueda {

/// The value of an environment variable, or nullptr: std::getenv, or a table in a test.
using Environment = std::function<const char*(const char* name)>;
/// The same; an absent one is empty.
std::string variable_text(const Environment& environment, const char* name);

/// The value of an environment variable; null without it.
const char* environment_variable(const char* name);

/// How this process was started, as its launcher says.
struct LaunchedJob {
  std::string launcher;  ///< "mpirun", "srun", or "the launcher": another one of MPI
  std::string told_by;   ///< the variable that says how many processes were started
  int size = 0;
  int rank = 0;
};

/// By whom this process was started, and with how many others; nothing without
/// a launcher of MPI. A job script of Slurm, and a shell, notebook or desktop
/// in its allocation, have none: only a step of srun has.
std::optional<LaunchedJob> launch_of(const Environment& environment);

/// This process's rank as its launcher (mpirun, srun ...) says in the
/// environment, which is known before MPI is up; 0 without a launcher.
int rank_by_launcher();

/// Whether this process prints for all: the launcher's rank 0.
bool speaks_for_all();

/// True if the launcher started more than this process for the run.
bool has_peers();

/// Refuses processes that were started together but find themselves alone: a
/// launcher and an MPI library that do not know each other give N runs of one
/// rank, each training on everything and writing over the others. Throws
/// InputError if the launcher's count contradicts `size`, the size of MPI's
/// world; the message names both and what to do.
///
/// Open MPI's own mpirun is believed wherever it spoke, because it may run
/// below Slurm; the others only matter to a process that is alone.
void check_launch(const Environment& environment, int size);

/// The advice for a step of srun that offers no PMIx (--mpi=none, --mpi=pmi2), empty elsewhere.
/// Most builds of Open MPI 4 end such a process in MPI_Init, with advice to build Open MPI anew.
std::string missing_pmix(const Environment& environment);

/// This process's number as the launcher counts, 0 if no launcher says. When
/// check_launch refuses, every process holds rank 0 of its own world: the one
/// with launcher rank 0 reports for all.
int launcher_rank(const Environment& environment);

/// This process's number among those of its node as the launcher counts, where
/// it says: Open MPI, MVAPICH2, Hydra (MPICH, Intel MPI), PALS, PMI, and a step
/// of Slurm where no other speaks, because below mpirun its number is that of
/// mpirun's own daemon.
std::optional<int> launcher_local_rank(const Environment& environment);

}  // namespace rueda
