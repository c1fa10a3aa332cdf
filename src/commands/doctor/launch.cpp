#include <cstdlib>
#include <string>

#include "machine.hpp"
#include "rueda/core/error.hpp"

namespace rueda::doctor {
namespace {

/// The variable as a number, -1 if it is absent or none.
int number(const Environment& environment, const char* name) {
  const char* text = environment(name);
  if (text == nullptr || *text < '0' || *text > '9') return -1;
  return std::atoi(text);
}

int positive(const Environment& environment, const char* name) {
  return std::max(0, number(environment, name));
}

std::string slurm_gpus(const Environment& environment) {
  for (const char* name : {"SLURM_STEP_GPUS", "SLURM_JOB_GPUS", "SLURM_GPUS_ON_NODE"}) {
    const char* value = environment(name);
    if (value != nullptr && *value != '\0' && std::string(value) != "0") {
      return std::string(name) + "=" + value;
    }
  }
  return {};
}

}  // namespace

LaunchFacts read_launch(const Environment& environment) {
  LaunchFacts launch;
  launch.launcher = "none";
  // Open MPI's mpirun first: it may itself run below Slurm's srun or inside its allocation.
  struct Known {
    const char* launcher;
    const char* size;
    const char* rank;
  };
  for (const Known& known : {Known{"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                             Known{"srun", "SLURM_NTASKS", "SLURM_PROCID"},
                             Known{"the launcher", "PMI_SIZE", "PMI_RANK"}}) {
    if (number(environment, known.rank) < 0 || number(environment, known.size) < 0) continue;
    launch.launcher = known.launcher;
    launch.told_size = number(environment, known.size);
    launch.told_by = known.size;
    break;
  }
  launch.in_slurm = environment("SLURM_JOB_ID") != nullptr;
  launch.slurm_tasks = positive(environment, "SLURM_NTASKS");
  launch.slurm_nodes = positive(environment, "SLURM_JOB_NUM_NODES");
  launch.slurm_cpus_per_task = positive(environment, "SLURM_CPUS_PER_TASK");
  launch.slurm_gpus = slurm_gpus(environment);
  return launch;
}

void judge_launch(LaunchFacts& launch, const Environment& environment, int size) {
  try {
    check_launch(environment, size);
  } catch (const Error& refusal) {
    launch.refusal = refusal.what();
  }
}

}  // namespace rueda::doctor
