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

/// A launcher by the variables that it sets for each process that it starts:
/// how many these are, and which this one is.
struct Launcher {
  const char* name;
  const char* size;
  const char* rank;
};
/// Those of MPI. One below another comes first: mpirun below srun or inside a
/// job script, Hydra's mpiexec on nodes that it reached by srun. Slurm sets
/// SLURM_NTASKS and SLURM_PROCID for a job script as well, of which it starts
/// one: only a step says how many processes were started.
constexpr Launcher kOpenMpi{"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"};
constexpr Launcher kMvapich{"the launcher", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"};
constexpr Launcher kPmi{"the launcher", "PMI_SIZE", "PMI_RANK"};
constexpr Launcher kSlurm{"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"};
/// Those that know nothing of MPI.
constexpr std::array<Launcher, 2> kForeignLaunchers = {
    {{"torchrun, or a launcher like it,", "WORLD_SIZE", "RANK"},
     {"horovodrun", "HOROVOD_SIZE", "HOROVOD_RANK"}}};

/// The launch by this launcher, if it started this process.
std::optional<LaunchedJob> launch_by(const Launcher& launcher, const Environment& environment) {
  const auto size = number(environment, launcher.size);
  if (!size) return std::nullopt;
  return LaunchedJob{launcher.name, launcher.size, *size,
                     number(environment, launcher.rank).value_or(0)};
}

[[noreturn]] void refuse(const std::string& launcher, const LaunchedJob& launch, int size,
                         const std::string& remedy) {
  const char* noun = launch.size == 1 ? "process" : "processes";
  throw InputError(fmt::format("{} started {} {} ({}={}), but MPI sees a world of {}: {}", launcher,
                               launch.size, noun, launch.told_by, launch.size, size, remedy));
}

}  // namespace

const char* environment_variable(const char* name) { return std::getenv(name); }

int rank_by_launcher() { return launcher_rank(environment_variable); }

bool speaks_for_all() { return rank_by_launcher() == 0; }

bool has_peers() {
  const auto launch = launch_of(environment_variable);
  return launch && launch->size > 1;
}

std::string variable_text(const Environment& environment, const char* name) {
  const char* text = environment(name);
  if (text == nullptr) return {};
  return text;
}

std::optional<LaunchedJob> launch_of(const Environment& environment) {
  for (const Launcher& launcher : {kOpenMpi, kMvapich})
    if (const auto launch = launch_by(launcher, environment)) return launch;
  const auto pmi = launch_by(kPmi, environment), slurm = launch_by(kSlurm, environment);
  // Slurm speaks PMI to its tasks, too.
  const bool one = pmi && slurm && pmi->size == slurm->size && pmi->rank == slurm->rank;
  return pmi && !one ? pmi : slurm;
}

void check_launch(const Environment& environment, int size) {
  const auto launch = launch_of(environment);
  if (launch && launch->told_by == kOpenMpi.size) {
    if (launch->size == size) return;
    refuse("mpirun", *launch, size,
           "the mpirun and the MPI library are of different make. Use the mpirun that belongs to "
           "the library (`rueda --version` names it), or under Slurm `srun --mpi=pmix`");
  }
  if (size > 1) return;
  if (launch && launch->size > 1 && launch->told_by == kSlurm.size) {
    refuse("Slurm", *launch, size,
           "each process would train alone. Start it with `srun --mpi=pmix`, for MPICH `srun "
           "--mpi=pmi2` (`srun --mpi=list` shows what this Slurm offers), or with mpirun inside "
           "the allocation; for a run of one rank use `srun -n 1`");
  }
  if (launch && launch->size > 1) {
    refuse("The launcher", *launch, size,
           "each process would train alone. Use the mpirun that belongs to the MPI library rueda "
           "is linked with (`rueda --version` names it)");
  }
  for (const Launcher& launcher : kForeignLaunchers) {
    const auto foreign = launch_by(launcher, environment);
    if (!foreign || foreign->size < 2 || !number(environment, launcher.rank)) continue;
    refuse(launcher.name, *foreign, size,
           fmt::format("each process would train alone. rueda's ranks are started by MPI: mpirun "
                       "-n {0} rueda train ... (under Slurm srun --mpi=pmix -n {0})",
                       foreign->size));
  }
}

std::string missing_pmix(const Environment& environment) {
  const bool in_step = !variable_text(environment, "SLURM_STEP_ID").empty();
  if (!in_step || environment("PMIX_NAMESPACE") != nullptr) return {};
  const auto launch = launch_of(environment);
  if (launch && launch->told_by == kOpenMpi.size) return {};
  return "srun started this process without PMIx (SLURM_STEP_ID is set, PMIX_NAMESPACE is not). If "
         "Open MPI ends it now, start it with `srun --mpi=pmix`; in a shell of `srun --pty`, with "
         "`mpirun -n 1`";
}

int launcher_rank(const Environment& environment) {
  if (environment("TORCHELASTIC_RUN_ID") != nullptr)  // others set RANK for every shell, too
    if (const auto rank = number(environment, "RANK")) return *rank;
  if (const auto launch = launch_of(environment)) return launch->rank;
  for (const Launcher& launcher : {kOpenMpi, kMvapich, kPmi, kSlurm})  // half an environment
    if (const auto rank = number(environment, launcher.rank)) return *rank;
  return 0;
}

std::optional<int> launcher_local_rank(const Environment& environment) {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK",
                           "MPI_LOCALRANKID", "PALS_LOCAL_RANKID", "PMI_LOCAL_RANK"})
    if (const auto rank = number(environment, name)) return rank;
  if (!launch_by(kSlurm, environment)) return {};  // a job script has local rank 0
  return number(environment, "SLURM_LOCALID");
}

}  // namespace rueda
