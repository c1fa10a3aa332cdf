#include <cstdio>
#include <set>
#include <span>

#include <fmt/format.h>

#include "base/core_time.hpp"
#include "commands/doctor/facts.hpp"

namespace rueda::doctor {
namespace {

bool on_cuda(const ClusterFacts& cluster) {
  return cluster.asked_backend == "cuda" ||
         std::ranges::count(cluster.ranks, "cuda", &RankFacts::backend) > 0;
}

/// A host, and what its ranks may use of it.
struct Host {
  std::string name;
  std::vector<const RankFacts*> ranks;
  std::set<int> cores;
  std::set<std::string> seen, taken;  ///< GPUs, by UUID

  Host(std::string host, std::vector<const RankFacts*> of)
      : name(std::move(host)), ranks(std::move(of)) {
    for (const RankFacts* rank : ranks) {
      cores.insert(rank->cores.allowed.begin(), rank->cores.allowed.end());
      for (const CudaDevice& gpu : rank->device.visible) seen.insert(gpu.uuid);
      if (takes_gpu(*rank)) taken.insert(rank->device.taken()->uuid);
    }
  }
  const RankFacts& first() const { return *ranks.front(); }
  bool srun() const { return first().launch.launcher == "srun"; }
  std::size_t online() const { return std::size_t(first().cores.online); }
  /// Processors that the control group has; 0: unknown.
  std::size_t granted() const {
    std::size_t count = 0;
    for (const std::vector<int>& core : first().cores.cores) count += core.size();
    return count;
  }
  /// Whether its ranks use all of these processors, which are not all of the host's.
  bool ends_at(std::size_t most) const {
    return most > 0 && most < online() && cores.size() >= most;
  }
};

/// Shares are sums of fractions: a little less than a whole core counts as one.
bool lacks_a_core(const RankFacts* rank) { return rank->cores.share < 1 - 1e-9; }

/// Options that give each rank its own equal part of the host's cores.
std::string own_cores(const Host& host) {
  const auto each = std::max<std::size_t>(1, host.online() / host.ranks.size());
  if (!host.srun()) return fmt::format("mpirun --map-by slot:PE={} --bind-to core", each);
  return fmt::format("#SBATCH --cpus-per-task={0}  and  srun --cpus-per-task={0} --cpu-bind=cores",
                     each);
}

/// What keeps the ranks from other cores, and what changes it: another remedy cannot help.
Finding limit_of(const Host& host) {
  const LaunchFacts& launch = host.first().launch;
  if (host.ends_at(host.granted())) {
    std::string change = "docker run --cpuset-cpus with more of them";
    if (launch.in_slurm) change = own_cores(host) + ", or #SBATCH --exclusive";
    return {.what = "; the control group of the job or container has no more", .change = change};
  }
  const auto& [set, unset] = settings_like(kThreadSettings, launch);
  if (!set.empty()) return {.what = set, .change = unset + "or give it more cores"};
  if (host.ends_at(host.first().cores.launcher))
    return {.what = "; not by the launcher, but by taskset, numactl or a script around it",
            .change = "the same without taskset or numactl, or with more cores there"};
  if (host.srun()) return {.what = "", .change = own_cores(host)};
  return {.what = "", .change = "mpirun --bind-to none"};
}

/// A remark on a host, whose text is empty where there is nothing to say.
using Rule = Finding (*)(const Host& host);

bool any_overlap(const std::vector<const RankFacts*>& ranks) {
  for (const RankFacts* rank : ranks) {
    const CoreFacts& cores = rank->cores;
    for (const RankFacts* other : ranks)
      if (share_a_core(cores.cores, cores.allowed, other->cores.allowed)) return true;
  }
  return false;
}

Finding overlapping_cores(const Host& host) {
  if (!any_overlap(host.ranks)) return {};
  Finding limit = limit_of(host);
  if (limit.what.empty()) limit.change = own_cores(host);
  return {.what = fmt::format("bindings of ranks on {} overlap: some share cores, or hardware "
                              "threads of one core, so that some wait for others{}",
                              host.name, limit.what),
          .change = limit.change};
}

std::string fewer_ranks(const Host& host) {
  if (host.srun()) return "#SBATCH --ntasks-per-node=... with fewer tasks, or more --cpus-per-task";
  return "mpirun with fewer ranks on the host (-n, or --map-by ppr:N:node)";
}

Finding crowded_cores(const Host& host) {
  if (std::ranges::none_of(host.ranks, lacks_a_core)) return {};
  const std::size_t count = host.ranks.size(), usable = host.cores.size();
  std::string allowed = fmt::format("{} allowed", usable);
  const double quota = host.first().cores.quota;
  if (quota > 0) allowed += fmt::format(", a quota of {:.3g}", quota);
  Finding limit{.what = "", .change = fewer_ranks(host)};
  if (host.online() >= count && usable < host.online()) limit = limit_of(host);
  return {.what = fmt::format("{} on {} have fewer than {} whole cores ({}): timings will not "
                              "show scaling{}",
                              counted(count, "rank"), host.name, count, allowed, limit.what),
          .change = limit.change};
}

Finding unused_cores(const Host& host) {
  const CoreFacts& cores = host.first().cores;
  // Without a launcher the cores of a container or a job are those that are meant.
  const bool launched = host.first().launch.launcher != "none";
  const std::size_t meant = launched ? host.online() : host.granted();
  if (host.cores.size() >= meant || cores.quota > 0) return {};
  const Finding limit = limit_of(host);
  return {.what = fmt::format("{} on {} may use {} of its {} cores{}",
                              counted(host.ranks.size(), "rank"), host.name, host.cores.size(),
                              host.online(), limit.what),
          .change = limit.change};
}

/// Ranks that have cores of their own, and do not get them.
Finding disturbed_cores(const Host& host) {
  const RankFacts* least = host.ranks.front();
  for (const RankFacts* rank : host.ranks)
    if (rank->cores.got < least->cores.got) least = rank;
  const CoreFacts& cores = least->cores;
  if (!is_disturbed(cores.got) || lacks_a_core(least)) return {};
  std::string others = "other programs";
  if (cores.quota > 0) others += fmt::format(", the quota of {:.3g} cores", cores.quota);
  std::string change = "#SBATCH --exclusive";
  if (!host.first().launch.in_slurm) {
    change = fmt::format(
        "top  on that host shows who has them; rueda train --threads {}  until they are free",
        std::max(1, cores.threads / 2));
  }
  const auto& [set, unset] = settings_like(kLeavesItsCore, least->launch);
  return {.what = fmt::format("rank {} on {} got {:.0f} % of the time of {}: {} or other virtual "
                              "machines took the rest{}",
                              least->rank, host.name, 100 * cores.got,
                              counted(std::size_t(cores.threads), "core"), others, set),
          .change = unset + change};
}

/// Whether the right neighbour of `rank` is on the host, too.
bool sends_inside(const Host& host, const RankFacts& rank) {
  const int next = (rank.rank + 1) % rank.size;
  for (const RankFacts* other : host.ranks)
    if (other->rank == next) return true;
  return false;
}

/// Between ranks that have cores of their own and get them: else disturbed_cores says why. In
/// shared memory a message takes two or three times as long as a flag does, over TCP about twenty
/// times.
Finding slow_messages(const Host& host) {
  Finding slow;
  for (const RankFacts* rank : host.ranks) {
    const LinkFacts &link = rank->host_link, &best = rank->host_memory;
    if (!sends_inside(host, *rank)) continue;
    if (lacks_a_core(rank) || is_disturbed(rank->cores.got) ||
        !(link.latency_us > 8 * best.latency_us) || 2 * link.gb_per_second > best.gb_per_second)
      return {};
    const auto& [set, unset] = settings_like(kMessageSettings, rank->launch);
    slow = {.what = fmt::format("messages between ranks on {} take {:.3g} us and reach {:.3g} "
                                "GB/s, where its memory allows {:.3g} us and {:.3g} GB/s: they do "
                                "not go through shared memory{}",
                                host.name, link.latency_us, link.gb_per_second, best.latency_us,
                                best.gb_per_second, set),
            .change = unset +
                      "mpirun --mca pml ob1 --mca btl self,vader,tcp (Open MPI 5: "
                      "self,sm,tcp); train --all-reduce shared needs no messages"};
  }
  return slow;
}

Finding copied_messages(const Host& host) {
  const std::string& why = host.first().copies_twice;
  if (why.empty() || host.ranks.size() < 2) return {};
  return {.what = fmt::format("messages between ranks on {} are copied twice, because no process "
                              "may read the memory of another one ({})",
                              host.name, printable(why)),
          .change =
              "sysctl kernel.yama.ptrace_scope=1; in a container --cap-add=SYS_PTRACE "
              "(Docker). --all-reduce shared needs neither"};
}

bool sees_one_gpu(const RankFacts* rank) { return rank->device.visible.size() == 1; }

/// Where each rank sees one GPU of its own, the launcher may hide the others.
Finding hidden_gpus(const Host& host) {
  const std::size_t count = host.ranks.size();
  if (count < 2 || host.seen.size() != count || !std::ranges::all_of(host.ranks, sees_one_gpu))
    return {};
  return {.what = fmt::format("each rank on {} sees its own GPU only: where control groups hide "
                              "the others, MPI cannot copy from GPU to GPU (CUDA IPC)",
                              host.name),
          .change = fmt::format("#SBATCH --gres=gpu:{}  instead of --gpus-per-task or --gpu-bind",
                                count)};
}

Finding idle_gpus(const Host& host) {
  const std::size_t seen = host.seen.size(), taken = host.taken.size();
  if (taken >= seen) return {};
  for (const RankFacts* rank : host.ranks)
    if (!takes_gpu(*rank)) return {};
  std::string change = fmt::format("mpirun --map-by ppr:{}:node", seen);
  if (host.srun()) change = fmt::format("srun --ntasks-per-node={}", seen);
  return {
      .what = fmt::format("{} of the {} GPUs of {} would be idle", seen - taken, seen, host.name),
      .change = change};
}

/// The first rule that applies to a host; each is reported for one host, and counted for others.
void find_by_host(const ClusterFacts& cluster, std::span<const Rule> rules, Findings& findings) {
  std::vector<Findings> found(rules.size());
  for (const auto& [name, ranks] : ranks_by_host(cluster.ranks)) {
    const Host host(name, ranks);
    for (std::size_t i = 0; i < rules.size(); ++i) {
      found[i].push_back(rules[i](host));
      if (!found[i].back().what.empty()) break;
      found[i].pop_back();
    }
  }
  for (Findings& of_rule : found) {
    if (of_rule.size() > 1)
      of_rule[0].what += fmt::format(" (and so on {})", counted(of_rule.size() - 1, "other host"));
    if (!of_rule.empty()) findings.push_back(of_rule[0]);
  }
}

std::string gpu_request(const ClusterFacts& cluster) {
  const auto per_host = ranks_by_host(cluster.ranks).begin()->second.size();
  if (cluster.ranks.front().launch.in_slurm) return fmt::format("#SBATCH --gres=gpu:{}", per_host);
  return "look at nvidia-smi and CUDA_VISIBLE_DEVICES on that host; in a container: --nv "
         "(Apptainer) or --gpus all (Docker)";
}

bool expects_gpu(const RankFacts& rank) {
  return rank.device.hardware || !rank.launch.slurm_gpus.empty();
}

/// Why a rank has no GPU, though its program could use one.
std::string why_no_gpu(const RankFacts& rank) {
  if (!sees_no_gpu(rank) || !rank.device.built) return "";
  return rank.device.reason;
}

/// Why its program could use none.
std::string why_no_cuda(const RankFacts& rank) {
  if (!sees_no_gpu(rank) || rank.device.built) return "";
  return rank.device.reason;
}

/// Ranks without a GPU, where some have one, or something says that there should be one.
void find_missing(const ClusterFacts& cluster, Severity severity, Findings& findings) {
  const bool mixed = !std::ranges::all_of(cluster.ranks, sees_no_gpu);
  const bool expected = std::ranges::any_of(cluster.ranks, expects_gpu);
  if (!mixed && !expected && cluster.asked_backend != "cuda") return;
  if (mixed) severity = Severity::fault;
  const char* what = "{0} without a GPU: {1}";
  add_for_ranks(cluster, findings, severity, what, gpu_request(cluster), why_no_gpu);
  add_for_ranks(cluster, findings, severity, what,
                "meson setup build -Dcuda=enabled  (CUDA_HOME names its folder)", why_no_cuda);
}

std::string gpu_for_each(const ClusterFacts& cluster) {
  if (cluster.ranks.front().launch.in_slurm)
    return "#SBATCH --ntasks-per-node=N --gres=gpu:N  with N the GPUs of a node; if meant: "
           "--allow-shared-gpu";
  return "mpirun with a rank for each GPU of a host (--map-by ppr:N:node); if meant: "
         "--allow-shared-gpu";
}

Finding find_shared(const ClusterFacts& cluster) {
  for (const auto& [gpu, ranks] : ranks_by(cluster.ranks, gpu_of)) {
    if (ranks.size() < 2) continue;
    const bool refused = on_cuda(cluster) && !cluster.allow_shared_gpu;
    return {refused ? Severity::fault : Severity::remark,  // one line stands for all
            fmt::format("{} share one GPU ({})", ranks_text(ranks, cluster.ranks.size()),
                        gpu.substr(gpu.find(' ') + 1)),
            gpu_for_each(cluster)};
  }
  return {};
}

/// Of "9.10.0": 9 and 10.
std::pair<int, int> parts_of(const std::string& version) {
  std::pair<int, int> parts;
  std::sscanf(version.c_str(), "%d.%d", &parts.first, &parts.second);
  return parts;
}

Finding find_cudnn(const ClusterFacts& cluster) {
  for (const RankFacts& rank : cluster.ranks) {
    const std::string& compiled = rank.device.cudnn_compiled;
    const auto needed = parts_of(compiled), found = parts_of(rank.device.cudnn_loaded);
    const bool fault = found.first != needed.first;
    if (compiled.empty() || (!fault && found.second >= needed.second)) continue;
    return {fault ? Severity::fault : Severity::remark,
            fmt::format("rank {} loads cuDNN {}, but the program was compiled with {}", rank.rank,
                        rank.device.cudnn_loaded, compiled),
            fmt::format(
                "module load cuDNN {}, or export LD_LIBRARY_PATH=<its lib folder>:$LD_LIBRARY_PATH",
                compiled)};
  }
  return {};
}

/// Why the backend cannot be used, though a GPU is there.
std::string why_no_backend(const RankFacts& rank) {
  if (sees_no_gpu(rank)) return "";
  return rank.backend_failure;
}

std::string why_gpu_fails(const RankFacts& rank) { return rank.device.failure; }

}  // namespace

std::string gpu_of(const RankFacts& rank) {
  if (!takes_gpu(rank)) return "";
  return rank.host + " " + rank.device.taken()->uuid;
}

void find_in_devices(const ClusterFacts& cluster, Findings& findings) {
  const bool cuda = on_cuda(cluster);
  const Severity severity = cuda ? Severity::fault : Severity::remark;
  find_missing(cluster, severity, findings);
  add_for_ranks(cluster, findings, Severity::fault, "{0}: {1}",
                "rueda train --backend cpu ...  or a build that has the backend", why_no_backend);
  add_for_ranks(cluster, findings, severity, "{0}: the GPU is visible but cannot be used: {1}",
                "nvidia-smi on that host: another program may hold the GPU (exclusive mode), or "
                "it needs its administrator",
                why_gpu_fails);
  findings.push_back(find_shared(cluster));
  constexpr Rule kRules[] = {hidden_gpus, idle_gpus};
  find_by_host(cluster, std::span(kRules).first(cuda ? 2 : 1), findings);
  findings.push_back(find_cudnn(cluster));
}

void find_in_cores(const ClusterFacts& cluster, Findings& findings) {
  constexpr Rule kRules[] = {overlapping_cores, crowded_cores, unused_cores};
  find_by_host(cluster, kRules, findings);
  constexpr Rule kBusy[] = {disturbed_cores};
  find_by_host(cluster, kBusy, findings);
  constexpr Rule kMemory[] = {slow_messages, copied_messages};
  find_by_host(cluster, kMemory, findings);
}

}  // namespace rueda::doctor
