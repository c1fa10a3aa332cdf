#include "launch_check.hpp"

#include <charconv>
#include <cstring>
#include <optional>

#include <fmt/format.h>

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

[[noreturn]] void refuse(const char* launcher, const char* variable, int started, int size,
                         const char* remedy) {
  throw InputError(fmt::format("{} started {} process{} ({}={}), but MPI sees a world of {}: {}",
                               launcher, started, started == 1 ? "" : "es", variable, started, size,
                               remedy));
}

}  // namespace

void check_launch(const Environment& environment, int size) {
  if (const auto started = number(environment, "OMPI_COMM_WORLD_SIZE")) {
    if (*started == size) return;
    refuse("mpirun", "OMPI_COMM_WORLD_SIZE", *started, size,
           "the mpirun and the MPI library are of different make. Use the mpirun that belongs to "
           "the library (`rueda --version` names it), or under Slurm `srun --mpi=pmix`");
  }
  if (size > 1) return;
  const int tasks = number(environment, "SLURM_NTASKS").value_or(1);
  if (tasks > 1 && number(environment, "SLURM_PROCID")) {
    refuse("Slurm", "SLURM_NTASKS", tasks, size,
           "each process would train alone. Start it with `srun --mpi=pmix` (`srun --mpi=list` "
           "shows what this Slurm offers) or with mpirun inside the allocation; for a run of one "
           "rank use `srun -n 1`");
  }
  if (const int processes = number(environment, "PMI_SIZE").value_or(1); processes > 1) {
    refuse("The launcher", "PMI_SIZE", processes, size,
           "each process would train alone. Use the mpirun that belongs to the MPI library rueda "
           "is linked with (`rueda --version` names it)");
  }
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
