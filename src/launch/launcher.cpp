#include "launch/launcher.hpp"

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace rueda {
namespace {

/// The variable as a non-negative number; nothing if it is absent or not one.
std::optional<int> number(const Environment& environment, const char* name) {
  const std::string text = variable_text(environment, name);
  std::string_view rest = text;
  const auto value = take_number<int>(rest);
  if (!rest.empty() || value.value_or(-1) < 0) return std::nullopt;
  return value;
}

/// Launchers that know nothing of MPI, by the variables that they set.
struct ForeignLauncher {
  const char* name;
  const char* size;
  const char* rank;
};
constexpr std::array<ForeignLauncher, 2> kForeignLaunchers = {
    {{"torchrun, or a launcher like it,", "WORLD_SIZE", "RANK"},
     {"horovodrun", "HOROVOD_SIZE", "HOROVOD_RANK"}}};

[[noreturn]] void refuse(const char* launcher, const char* variable, int started, int size,
                         const std::string& remedy) {
  const char* noun = started == 1 ? "process" : "processes";
  throw InputError(fmt::format("{} started {} {} ({}={}), but MPI sees a world of {}: {}", launcher,
                               started, noun, variable, started, size, remedy));
}

}  // namespace

const char* environment_variable(const char* name) { return std::getenv(name); }

int rank_by_launcher() { return launcher_rank(environment_variable); }

bool speaks_for_all() { return rank_by_launcher() == 0; }

bool has_peers() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "PMI_SIZE"}) {
    const char* size = std::getenv(name);
    if (size != nullptr) return std::atoi(size) > 1;
  }
  return false;
}

std::string variable_text(const Environment& environment, const char* name) {
  const char* text = environment(name);
  if (text == nullptr) return {};
  return text;
}

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
  for (const auto& [launcher, size_name, rank_name] : kForeignLaunchers) {
    const int started = number(environment, size_name).value_or(1);
    if (started < 2 || !number(environment, rank_name)) continue;
    refuse(launcher, size_name, started, size,
           fmt::format("each process would train alone. rueda's ranks are started by MPI: mpirun "
                       "-n {} rueda train ... (under Slurm srun --mpi=pmix -n {})",
                       started, started));
  }
}

int launcher_rank(const Environment& environment) {
  if (environment("TORCHELASTIC_RUN_ID") != nullptr)  // others set RANK for every shell, too
    if (const auto rank = number(environment, "RANK")) return *rank;
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK"})
    if (const auto rank = number(environment, name)) return *rank;
  return 0;
}

std::optional<int> launcher_local_rank(const Environment& environment) {
  for (const char* name :
       {"OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
        "PALS_LOCAL_RANKID", "PMI_LOCAL_RANK", "SLURM_LOCALID"})
    if (const auto rank = number(environment, name)) return rank;
  return {};
}

}  // namespace rueda
