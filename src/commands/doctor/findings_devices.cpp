#include <algorithm>
#include <cstdlib>
#include <set>

#include <spdlog/fmt/fmt.h>

#include "findings.hpp"

namespace rueda::doctor {
namespace {

bool on_cuda(const ClusterFacts& cluster) {
  return cluster.asked_backend == "cuda" ||
         std::any_of(cluster.ranks.begin(), cluster.ranks.end(),
                     [](const RankFacts& r) { return r.backend == "cuda"; });
}

/// Something on the rank's host says that there should be a GPU.
bool expects_gpu(const RankFacts& rank) {
  return rank.device.hardware || !rank.launch.slurm_gpus.empty();
}

std::string gpu_request(const ClusterFacts& cluster) {
  const auto per_host = ranks_by_host(cluster.ranks).begin()->second.size();
  if (cluster.ranks.front().launch.in_slurm) return fmt::format("#SBATCH --gres=gpu:{}", per_host);
  return "look at nvidia-smi and CUDA_VISIBLE_DEVICES on that host; in a container: --nv "
         "(Apptainer) or --gpus all (Docker)";
}

/// Ranks by the reason for which they have no GPU.
void find_missing(const ClusterFacts& cluster, Findings& findings) {
  const auto without = ranks_by(cluster.ranks, [](const RankFacts& r) {
    return r.device.visible.empty() ? r.device.reason + " " : std::string();
  });
  std::size_t missing = 0;
  for (const auto& entry : without) missing += entry.second.size();
  const bool mixed = missing > 0 && missing < cluster.ranks.size();
  const bool expected = std::any_of(cluster.ranks.begin(), cluster.ranks.end(), expects_gpu);
  if (!mixed && !expected && cluster.asked_backend != "cuda") return;
  for (const auto& [reason, ranks] : without) {
    const bool built = cluster.ranks[static_cast<std::size_t>(ranks.front())].device.built;
    add(findings, mixed || on_cuda(cluster) ? Severity::fault : Severity::remark,
        fmt::format("{} without a GPU: {}", ranks_text(ranks, cluster.ranks.size()),
                    reason.substr(0, reason.size() - 1)),
        built ? gpu_request(cluster)
              : "meson setup build -Dcuda=enabled  (CUDA_HOME names its folder)");
  }
}

/// The backend that was asked for is not to be had, though a GPU is there.
void find_refused(const ClusterFacts& cluster, Findings& findings) {
  const auto refused = ranks_by(cluster.ranks, [](const RankFacts& rank) {
    return rank.device.visible.empty() ? std::string() : rank.backend_failure;
  });
  for (const auto& [failure, ranks] : refused) {
    add(findings, Severity::fault,
        fmt::format("{}: {}", ranks_text(ranks, cluster.ranks.size()), failure),
        "rueda train --backend cpu ...  or a build that has the backend");
  }
}

void find_failing(const ClusterFacts& cluster, Findings& findings) {
  const auto failing =
      ranks_by(cluster.ranks, [](const RankFacts& rank) { return rank.device.failure; });
  for (const auto& [failure, ranks] : failing) {
    add(findings, on_cuda(cluster) ? Severity::fault : Severity::remark,
        fmt::format("{}: the GPU is visible but cannot be used: {}",
                    ranks_text(ranks, cluster.ranks.size()), failure),
        "nvidia-smi on that host: another program may hold the GPU (exclusive mode), or it needs "
        "its administrator");
  }
}

void find_shared(const ClusterFacts& cluster, Findings& findings) {
  const auto takers = ranks_by(cluster.ranks, [](const RankFacts& rank) {
    const GpuFacts* gpu = rank.device.taken();
    return gpu == nullptr ? std::string() : rank.host + " " + gpu->uuid;
  });
  for (const auto& [gpu, ranks] : takers) {
    if (ranks.size() < 2) continue;
    const bool refused = on_cuda(cluster) && !cluster.allow_shared_gpu;
    const bool slurm = cluster.ranks.front().launch.in_slurm;
    add(findings, refused ? Severity::fault : Severity::remark,
        fmt::format("{} share one GPU ({})", ranks_text(ranks, cluster.ranks.size()),
                    gpu.substr(gpu.find(' ') + 1)),
        slurm ? "#SBATCH --ntasks-per-node=N --gres=gpu:N  with N the GPUs of a node; if meant: "
                "--allow-shared-gpu"
              : "mpirun with as many ranks on a host as it has GPUs (--map-by ppr:N:node); if "
                "meant: --allow-shared-gpu");
    return;  // one line stands for all GPUs that are shared
  }
}

/// The GPUs of a host, by UUID.
struct HostGpus {
  std::set<std::string> seen, taken;
  bool one_each = true;  ///< each rank sees one only
  bool all_take = true;
};

HostGpus gpus_of(const std::vector<const RankFacts*>& ranks) {
  HostGpus gpus;
  for (const RankFacts* rank : ranks) {
    const DeviceFacts& device = rank->device;
    for (const GpuFacts& gpu : device.visible) gpus.seen.insert(gpu.uuid);
    if (device.taken() != nullptr) gpus.taken.insert(device.taken()->uuid);
    gpus.one_each = gpus.one_each && device.visible.size() == 1;
    gpus.all_take = gpus.all_take && device.taken() != nullptr;
  }
  return gpus;
}

/// Where each rank sees one GPU of its own, the launcher may hide the others.
void find_hidden_peers(const ClusterFacts& cluster, Findings& findings) {
  for (const auto& [host, ranks] : ranks_by_host(cluster.ranks)) {
    const HostGpus gpus = gpus_of(ranks);
    if (!gpus.one_each || ranks.size() < 2 || gpus.seen.size() != ranks.size()) continue;
    return add(findings, Severity::remark,
               fmt::format("each rank on {} sees its own GPU only: where control groups hide the "
                           "others, MPI cannot copy from GPU to GPU (CUDA IPC)",
                           host),
               fmt::format("#SBATCH --gres=gpu:{}  instead of --gpus-per-task or --gpu-bind",
                           ranks.size()));
  }
}

void find_idle(const ClusterFacts& cluster, Findings& findings) {
  if (!on_cuda(cluster)) return;
  for (const auto& [host, ranks] : ranks_by_host(cluster.ranks)) {
    const auto [seen, taken, one_each, all_take] = gpus_of(ranks);
    if (!all_take || taken.size() >= seen.size()) continue;
    const bool slurm = ranks.front()->launch.launcher == "srun";
    return add(findings, Severity::remark,
               fmt::format("{} of the {} GPUs of {} would be idle", seen.size() - taken.size(),
                           seen.size(), host),
               fmt::format(fmt::runtime(slurm ? "srun --ntasks-per-node={}"
                                              : "mpirun --map-by ppr:{}:node"),
                           seen.size()));
  }
}

/// The number with which a text begins, 0 if with none.
int number_at(const std::string& text) { return std::atoi(text.c_str()); }

int minor_of(const std::string& version) {
  const auto dot = version.find('.');
  return dot == std::string::npos ? 0 : number_at(version.substr(dot + 1));
}

void find_cudnn(const ClusterFacts& cluster, Findings& findings) {
  for (const RankFacts& rank : cluster.ranks) {
    const auto& [compiled, loaded] =
        std::pair(rank.device.cudnn_compiled, rank.device.cudnn_loaded);
    if (compiled.empty()) continue;
    const bool fault = number_at(loaded) != number_at(compiled);
    if (!fault && minor_of(loaded) >= minor_of(compiled)) continue;
    add(findings, fault ? Severity::fault : Severity::remark,
        fmt::format("rank {} loads cuDNN {}, but the program was compiled with {}", rank.rank,
                    loaded, compiled),
        fmt::format(
            "module load cuDNN {}, or export LD_LIBRARY_PATH=<its lib folder>:$LD_LIBRARY_PATH",
            compiled));
    return;
  }
}

}  // namespace

void find_in_devices(const ClusterFacts& cluster, Findings& findings) {
  if (cluster.ranks.empty()) return;
  find_missing(cluster, findings);
  find_refused(cluster, findings);
  find_failing(cluster, findings);
  find_shared(cluster, findings);
  find_hidden_peers(cluster, findings);
  find_idle(cluster, findings);
  find_cudnn(cluster, findings);
}

}  // namespace rueda::doctor
