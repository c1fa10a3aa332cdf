#include "launch/machine.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/waiting.hpp"
#include "commands/doctor/process.hpp"
#include "display/text.hpp"
#include "launch/control_group.hpp"
#include "launch/gpu_place.hpp"
#include "launch/launcher.hpp"
#include "model/registry.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "run/wiring/device_choice.hpp"
#include "run/wiring/open_backend.hpp"
#include "run/wiring/versions.hpp"
#include "train/run_plan.hpp"

namespace rueda::doctor {
namespace {

/// The variable as a number; 0 if it is absent or none.
int number(const Environment& environment, const char* name) {
  const char* text = environment(name);
  if (text == nullptr || *text < '0' || *text > '9') return 0;
  return std::atoi(text);
}

#if RUEDA_WITH_CUDA
/// Opens the GPU that this rank would take, on the calling thread. Failures become facts.
void look_at_devices(DeviceFacts& facts, std::optional<int> local_rank) {
  facts.built = true;
  if (const auto versions = cudnn_versions()) {
    facts.cudnn_compiled = versions->compiled;
    facts.cudnn_loaded = versions->loaded;
  }
  try {
    static_cast<CudaDevices&>(facts) = cuda_devices();
    if (facts.visible.empty()) return;
    const int visible = int(facts.visible.size());
    facts.takes = choose_device(local_rank, has_peers(), visible).ordinal;
    facts.free_bytes = open_cuda_device(facts.taken()->ordinal);
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

bool on_device(const RankFacts& rank) {
  return rank.backend == "cuda" && rank.device.taken() != nullptr;
}

bool share_memory(const RankFacts& rank, const RankFacts& other) {
  if (!on_device(rank)) return other.host == rank.host;
  const CudaDevice* gpu = other.device.taken();
  return gpu != nullptr && gpu->uuid == rank.device.taken()->uuid;
}

/// Open MPI's mpirun wants to be told twice.
bool allows_root(const Environment& environment) {
  return environment("OMPI_ALLOW_RUN_AS_ROOT") != nullptr &&
         environment("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") != nullptr;
}

/// Processors of the process that started this rank's supervisor. Another one
/// than the launcher gives on what it has.
std::size_t launchers_cores(const LaunchFacts& launch, const Environment& environment) {
  const char* command = environment("OMPI_COMMAND");
  if (launch.launcher == "none" ||
      (command != nullptr &&
       std::filesystem::path(command).filename() != program_invocation_short_name))
    return allowed_cores().size();
  std::string skipped;
  int parent = 0;
  std::ifstream("/proc/" + std::to_string(getppid()) + "/stat") >> skipped >> skipped >> skipped >>
      parent;
  return allowed_cores(parent).size();
}

}  // namespace

LaunchFacts read_launch(const Environment& environment) {
  LaunchFacts launch;
  launch.in_slurm = environment("SLURM_JOB_ID") != nullptr;
  launch.slurm_tasks = number(environment, "SLURM_NTASKS");
  launch.slurm_nodes = number(environment, "SLURM_JOB_NUM_NODES");
  launch.slurm_cpus_per_task = number(environment, "SLURM_CPUS_PER_TASK");
  for (const char* name : {"SLURM_GPUS_ON_NODE", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS"}) {
    const char* value = environment(name);  // the last one that says something
    const bool none = value == nullptr || *value == '\0' || std::string_view(value) == "0";
    if (!none) launch.slurm_gpus = std::string(name) + "=" + value;
  }
  if (const auto told = launch_of(environment)) {
    launch.launcher = told->launcher;
    launch.launched_size = told->size;
    launch.told_by = told->told_by;
  }
  return launch;
}

void judge_launch(LaunchFacts& launch, const Environment& environment, int size) {
  try {
    check_launch(environment, size);
  } catch (const Error& refusal) {
    launch.refusal = refusal.what();
  }
}

void share_out_cores(Ranks& ranks) {
  for (const auto& [host, peers] : ranks_by_host(ranks)) {
    const CoreFacts& first = peers.front()->cores;
    NodeCores node{.allowed = {},
                   .online = first.online,
                   .quota = first.quota,
                   .launched = peers.front()->launch.launcher != "none"};
    node.cores = first.cores;
    for (const RankFacts* peer : peers) node.allowed.push_back(peer->cores.allowed);
    for (std::size_t local = 0; local < peers.size(); ++local) {
      CoreFacts& cores = ranks[std::size_t(peers[local]->rank)].cores;
      static_cast<ThreadChoice&>(cores) = choose_threads(node, local, 0);
      cores.share = core_share(node, local);
    }
  }
}

/// With cross memory attach MPI copies a message inside a host once. Containers
/// forbid the call, and Yama can restrict it to administrators.
std::string why_no_single_copy() {
  int scope = 0;
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
  if (scope > 1) return fmt::format("kernel.yama.ptrace_scope is {}", scope);
  char from = 1, to = 0;
  const iovec here{&to, 1}, there{&from, 1};
  if (::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == 1) return "";
  return std::string("process_vm_readv: ") + std::strerror(errno);
}

namespace {

void sleep_until_stopped(const std::stop_token& stop) {
  while (!stops_within(stop, 1)) continue;
}

/// Whether this process may start as many threads as MPI does.
bool has_room_for_threads() {
  constexpr int kOfMpi = 16;  // and of the daemon that it starts where there is no launcher
  std::vector<std::jthread> team;
  try {
    for (int i = 0; i < kOfMpi; ++i) team.emplace_back(sleep_until_stopped);
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

/// Through which messages between the ranks of a host go.
constexpr const char* kSharedMemory = "/dev/shm";

/// Why Open MPI cannot make its files in `folder`; empty if it can.
std::string why_no_files(const std::string& folder) {
  constexpr double kLeastRoom = 10e6;  // bytes
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return std::strerror(errno);
  struct statvfs room {};
  if (::statvfs(folder.c_str(), &room) != 0 ||
      double(room.f_bavail) * double(room.f_frsize) >= kLeastRoom)
    return "";
  return std::strerror(ENOSPC);
}

}  // namespace

Obstacles obstacles_to_start(const Environment& environment) {
  Obstacles found;
  if (variable_text(environment, "HOME").empty())
    found.push_back({"HOME is not set", "export HOME=$PWD"});
  if (variable_text(environment, "PATH").empty())
    found.push_back({"PATH is not set", "export PATH=/usr/local/bin:/usr/bin:/bin"});
  std::string folder = "/tmp";
  for (const char* name : {"TMP", "TEMP", "TMPDIR"})  // the last one that is set
    if (const char* named = environment(name)) folder = named;
  if (const std::string why = why_no_files(folder); !why.empty())
    found.push_back({fmt::format("temporary files cannot be made in {}: {}", one_line(folder), why),
                     "export TMPDIR=FOLDER  of the host's own disk, with room"});
  if (const std::string why = why_no_files(kSharedMemory); !why.empty())
    found.push_back({fmt::format("shared memory cannot be had in {}: {}", kSharedMemory, why),
                     "rm what other programs left in /dev/shm; docker run --shm-size=1g"});
  if (!has_room_for_threads())
    found.push_back({"the limit of processes leaves no room for MPI's threads", kMoreThreads});
  return found;
}

RankFacts look_at_machine(const Environment& environment, BackendChoice backend,
                          const std::vector<std::string>& parameter_files) {
  RankFacts facts;
  facts.host = host_name();
  facts.launch = read_launch(environment);
  facts.launch.settings = setting_variables();
  facts.launch.file_settings =
      file_settings(environment, setting_files(environment, parameter_files));
  facts.launch.obstacles = obstacles_to_start(environment);
  facts.launch.refuses_root = ::geteuid() == 0 && !allows_root(environment);
  facts.cores.allowed = allowed_cores();
  facts.cores.cores = machine_cores();
  facts.cores.online = online_cores();
  facts.cores.launcher = launchers_cores(facts.launch, environment);
  const GroupLimits limits = control_group_limits();
  facts.cores.quota = limits.quota.value;
  facts.limits = limits_text(limits, facts.cores.online);
  facts.host_memory_bytes = available_host_memory();
  if (limits.process.value > 0)
    facts.process_memory_bytes = std::max<std::size_t>(1, limits.process_left);
  facts.copies_twice = why_no_single_copy();
  facts.network = network_interfaces();
  for (const auto& [name, version] : component_versions())
    facts.versions.push_back({name, version});
  std::error_code ignored;
  facts.device.hardware = std::filesystem::exists("/dev/nvidia0", ignored);
  if (const char* visible = environment("CUDA_VISIBLE_DEVICES"))
    facts.device.visible_devices = visible;
  look_at_devices(facts.device, launcher_local_rank(environment));
  try {
    facts.backend = open_backend({.choice = backend})->name();
  } catch (const std::exception& error) {
    facts.backend = "";
    facts.backend_failure = error.what();
  }
  return facts;
}

std::size_t memory_per_rank(const Ranks& ranks) {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const RankFacts& rank : ranks) {
    const std::size_t free = on_device(rank) ? rank.device.free_bytes : rank.host_memory_bytes;
    std::size_t sharers = 0;
    for (const RankFacts& other : ranks)
      if (share_memory(rank, other)) ++sharers;
    // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a rank shares with itself
    least = std::min(least, free / sharers);
    if (!on_device(rank) && rank.process_memory_bytes > 0)
      least = std::min(least, rank.process_memory_bytes);
  }
  return ranks.empty() ? 0 : least - least / 20;
}

namespace {

/// On a GPU cuDNN compiles what it plans, so each size of each network takes seconds.
RunError not_planned(std::chrono::seconds limit) {
  return RunError(
      fmt::format("not planned: the doctor plans for {} s at most; rueda summary --model NAME "
                  "--memory SIZE plans one network",
                  limit.count()));
}

}  // namespace

std::vector<BatchFacts> largest_batches(BackendChoice choice, std::size_t bytes, int ranks,
                                        int threads, std::chrono::seconds limit) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + limit;
  std::vector<BatchFacts> all;
  // One of each precision for all plans: opening a backend takes a GPU some time.
  std::map<Precision, std::unique_ptr<Backend>> opened;
  for (const std::string& model : model_names()) {
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      // CIFAR-10's own for the networks made for it; Keras' larger ones are
      // trained on resized ones.
      const int image_size = model.ends_with("v2") ? 128 : 32;
      BatchFacts& facts =
          all.emplace_back(BatchFacts{model, image_size, to_string(precision), 0, {}});
      try {
        std::unique_ptr<Backend>& backend = opened[precision];
        if (!backend)
          backend = open_backend({.choice = choice, .precision = precision, .threads = threads});
        const Graph graph = build_model(model, facts.image_size, kClasses);
        facts.largest_batch = largest_batch(bytes, kMostSamples, [&](std::size_t batch) {
          if (Clock::now() >= end) throw not_planned(limit);
          return usual_training_memory(graph, *backend, batch, ranks);
        });
      } catch (const std::exception& error) {
        facts.failure = error.what();
      }
    }
  }
  return all;
}

}  // namespace rueda::doctor
