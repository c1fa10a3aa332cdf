#include "machine.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "rueda/core/error.hpp"
#include "rueda/core/machine.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "wiring/device_choice.hpp"
#include "wiring/open_backend.hpp"
#include "wiring/version.hpp"
#if RUEDA_WITH_CUDA
#include "cuda/device/device_query.hpp"
#include "cuda/device/doctor_device.hpp"
#endif

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

/// Launchers and the variables by which each says how many processes it started, and which this is.
/// Open MPI's mpirun first: it may itself run below Slurm's srun or inside its allocation.
constexpr const char* kLaunchers[][3] = {{"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                         {"srun", "SLURM_NTASKS", "SLURM_PROCID"},
                                         {"the launcher", "PMI_SIZE", "PMI_RANK"}};

std::string slurm_gpus(const Environment& environment) {
  for (const char* name : {"SLURM_STEP_GPUS", "SLURM_JOB_GPUS", "SLURM_GPUS_ON_NODE"}) {
    const char* value = environment(name);
    if (value != nullptr && *value != '\0' && std::string(value) != "0") {
      return std::string(name) + "=" + value;
    }
  }
  return {};
}

void choose_backend(RankFacts& facts, BackendChoice choice) {
  facts.backend.clear();
  try {
    facts.backend = open_backend({.choice = choice})->name();
  } catch (const std::exception& error) {
    facts.backend_failure = error.what();
  }
}

#if RUEDA_WITH_CUDA
void open_own(DeviceFacts& facts, std::optional<int> local_rank) {
  const CudaDevices found = cuda_devices();
  facts.driver_version = found.driver_version;
  facts.runtime_version = found.runtime_version;
  facts.reason = found.reason;
  for (const CudaDevice& device : found.devices) {
    facts.visible.push_back({device.ordinal, device.name, device.uuid, device.memory_bytes});
  }
  if (facts.visible.empty()) return;
  const int visible = static_cast<int>(facts.visible.size());
  facts.takes = choose_device(local_rank, has_peers(), visible).ordinal;
  facts.free_bytes = open_cuda_device(facts.taken()->ordinal);
}

/// Opens the GPU that this rank would take, on the calling thread. Failures become facts.
void look_at_devices(DeviceFacts& facts, std::optional<int> local_rank) {
  facts.built = true;
  if (const auto versions = cudnn_versions()) {
    facts.cudnn_compiled = versions->compiled;
    facts.cudnn_loaded = versions->loaded;
  }
  try {
    open_own(facts, local_rank);
  } catch (const std::exception& error) {
    facts.failure = error.what();
    if (facts.visible.empty()) facts.reason = error.what();
  }
}
#else
void look_at_devices(DeviceFacts& facts, std::optional<int>) {
  facts.reason = "this build has no CUDA part (-Dcuda=disabled, or nvcc was not found)";
}
#endif

}  // namespace

LaunchFacts read_launch(const Environment& environment) {
  LaunchFacts launch;
  launch.launcher = "none";
  for (const auto& [launcher, size, rank] : kLaunchers) {
    if (number(environment, rank) < 0 || number(environment, size) < 0) continue;
    launch.launcher = launcher;
    launch.told_size = number(environment, size);
    launch.told_by = size;
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

void share_out_cores(std::vector<RankFacts>& ranks) {
  for (const auto& [host, peers] : ranks_by_host(ranks)) {
    const CoreFacts& first = peers.front()->cores;
    NodeCores node{.allowed = {},
                   .online = first.online,
                   .quota = first.quota,
                   .launched = peers.front()->launch.launcher != "none"};
    for (const RankFacts* peer : peers) node.allowed.push_back(peer->cores.allowed);
    for (std::size_t local = 0; local < peers.size(); ++local) {
      CoreFacts& cores = ranks[static_cast<std::size_t>(peers[local]->rank)].cores;
      const ThreadChoice choice = choose_threads(node, local, 0);
      cores.share = core_share(node, local);
      cores.threads = choice.threads;
      cores.remark = choice.remark;
    }
  }
}

RankFacts look_at_machine(const Environment& environment, BackendChoice backend) {
  RankFacts facts;
  facts.host = host_name();
  facts.launch = read_launch(environment);
  facts.cores = {
      .allowed = allowed_cores(), .online = online_cores(), .quota = cpu_quota(), .remark = {}};
  facts.host_memory_bytes = available_host_memory();
  facts.versions = component_versions();
  facts.versions.insert(facts.versions.begin(), {"rueda", program_version()});
  std::error_code ignored;
  facts.device.hardware = std::filesystem::exists("/dev/nvidia0", ignored);
  const char* visible = environment("CUDA_VISIBLE_DEVICES");
  facts.device.visible_devices = visible == nullptr ? "" : visible;
  look_at_devices(facts.device, launcher_local_rank(environment));
  choose_backend(facts, backend);
  return facts;
}

}  // namespace rueda::doctor
