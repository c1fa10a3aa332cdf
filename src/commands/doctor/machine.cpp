#include "machine.hpp"

#include <filesystem>
#include <optional>

#include "rank_sets.hpp"
#include "rueda/core/cores.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/host_memory.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "wiring/device_choice.hpp"
#include "wiring/launcher_env.hpp"
#include "wiring/open_backend.hpp"
#include "wiring/version.hpp"
#if RUEDA_WITH_CUDA
#include "cuda/device/device_query.hpp"
#include "cuda/device/doctor_device.hpp"
#endif

namespace rueda::doctor {
namespace {

void choose_backend(RankFacts& facts, BackendChoice choice) {
  facts.backend.clear();
  try {
    facts.backend = open_backend({.choice = choice})->name();
  } catch (const std::exception& error) {
    facts.backend_failure = error.what();
  }
}

#if RUEDA_WITH_CUDA
void list_devices(DeviceFacts& facts) {
  const CudaDevices found = cuda_devices();
  facts.driver_version = found.driver_version;
  facts.runtime_version = found.runtime_version;
  facts.reason = found.reason;
  for (const CudaDevice& device : found.devices) {
    facts.visible.push_back({device.ordinal, device.name, device.uuid, device.memory_bytes});
  }
}

void open_own(DeviceFacts& facts, std::optional<int> local_rank) {
  if (facts.visible.empty()) return;
  const int visible = static_cast<int>(facts.visible.size());
  facts.takes = choose_device(local_rank, has_peers(), visible).ordinal;
  facts.free_bytes = open_cuda_device(facts.taken()->ordinal);
}

void look_at_devices(DeviceFacts& facts, std::optional<int> local_rank) {
  facts.built = true;
  if (const auto versions = cudnn_versions()) {
    facts.cudnn_compiled = versions->compiled;
    facts.cudnn_loaded = versions->loaded;
  }
  try {
    list_devices(facts);
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

CoreFacts read_cores() {
  CoreFacts cores;
  cores.allowed = allowed_cores();
  cores.online = online_cores();
  cores.quota = cpu_quota();
  return cores;
}

DeviceFacts open_device(const Environment& environment) {
  DeviceFacts facts;
  std::error_code ignored;
  facts.hardware = std::filesystem::exists("/dev/nvidia0", ignored);
  if (const char* visible = environment("CUDA_VISIBLE_DEVICES")) facts.visible_devices = visible;
  look_at_devices(facts, launcher_local_rank(environment));
  return facts;
}

void settle_cores(std::vector<RankFacts>& ranks) {
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
  facts.cores = read_cores();
  facts.host_memory_bytes = available_host_memory();
  facts.versions = component_versions();
  facts.versions.insert(facts.versions.begin(), {"rueda", program_version()});
  facts.device = open_device(environment);
  choose_backend(facts, backend);
  return facts;
}

}  // namespace rueda::doctor
