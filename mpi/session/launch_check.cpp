#include "launch_check.hpp"

#include <charconv>
#include <cstring>
#include <optional>

#include "rueda/core/error.hpp"

namespace rueda {
namespace {

/// The variable as a non-negative number; nothing if it is absent or not one.
std::optional<int> number(const Environment& environment, const char* name) {
  const char* text = environment(name);
  if (text == nullptr) return {};
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, fault] = std::from_chars(text, end, value);
  if (fault != std::errc() || stop != end || value < 0) return {};
  return value;
}

std::string contradiction(const char* launcher, const char* variable, int started, int size) {
  return std::string(launcher) + " started " + std::to_string(started) + " process" +
         (started == 1 ? "" : "es") + " (" + variable + "=" + std::to_string(started) +
         "), but MPI sees a world of " + std::to_string(size) + ": ";
}

void check_slurm(const Environment& environment, int size) {
  const auto tasks = number(environment, "SLURM_NTASKS");
  if (!tasks || *tasks <= 1 || !number(environment, "SLURM_PROCID")) return;
  throw InputError(contradiction("Slurm", "SLURM_NTASKS", *tasks, size) +
                   "each process would train alone. Start it with `srun --mpi=pmix` (`srun "
                   "--mpi=list` shows what this Slurm offers) or with mpirun inside the "
                   "allocation; for a run of one rank use `srun -n 1`");
}

void check_process_manager(const Environment& environment, int size) {
  const auto processes = number(environment, "PMI_SIZE");
  if (!processes || *processes <= 1) return;
  throw InputError(contradiction("The launcher", "PMI_SIZE", *processes, size) +
                   "each process would train alone. Use the mpirun that belongs to the MPI library "
                   "rueda is linked with (`rueda --version` names it)");
}

}  // namespace

void check_launch(const Environment& environment, int size) {
  if (const auto started = number(environment, "OMPI_COMM_WORLD_SIZE")) {
    if (*started == size) return;
    throw InputError(contradiction("mpirun", "OMPI_COMM_WORLD_SIZE", *started, size) +
                     "the mpirun and the MPI library are of different make. Use the mpirun that "
                     "belongs to the library (`rueda --version` names it), or under Slurm `srun "
                     "--mpi=pmix`");
  }
  if (size > 1) return;
  check_slurm(environment, size);
  check_process_manager(environment, size);
}

int launcher_rank(const Environment& environment) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK"}) {
    if (const auto rank = number(environment, name)) return *rank;
  }
  return 0;
}

std::optional<int> launcher_local_rank(const Environment& environment) {
  for (const char* name :
       {"OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
        "PALS_LOCAL_RANKID", "PMI_LOCAL_RANK", "SLURM_LOCALID"}) {
    if (const auto rank = number(environment, name)) return rank;
  }
  return {};
}

}  // namespace rueda
