#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/json/json_fields.hpp"
#include "base/text.hpp"
#include "commands/doctor/network.hpp"
#include "cuda/device/device_query.hpp"
#include "data/cifar10.hpp"
#include "display/text.hpp"
#include "launch/machine.hpp"
#include "launch/settings.hpp"
#include "mpi/probes/cuda_awareness.hpp"
#include "mpi/probes/link_probe.hpp"
#include "rueda/data/dataset.hpp"

// What the doctor gathers, as plain data, which goes to JSON and back. One rank
// is enough to know each fact. Findings and report read nothing else.

/// How facts go to JSON and back, from rank to rank, from worker to supervisor, and to --json: the
/// members of `type` under their own names, in the order of the alphabet.
#define RUEDA_FACT(member) Field{#member, &Facts::member},
#define RUEDA_FACTS(type, ...)                                                             \
  inline auto fields_of(const type&) {                                                     \
    using Facts = type;                                                                    \
    return std::tuple{NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(RUEDA_FACT, __VA_ARGS__))}; \
  }

namespace rueda {

RUEDA_FACTS(NetworkInterface, address, loopback, name, up)
RUEDA_FACTS(FileSetting, file, line, name, value)
RUEDA_FACTS(CudaDevice, memory_bytes, name, ordinal, uuid)

}  // namespace rueda

namespace rueda::doctor {

// Steps of a run that others have to know by name.
inline constexpr const char* kFirstStep = "look at this machine";  ///< which no rank waits in
inline constexpr const char* kStartStep = "start MPI";
inline constexpr const char* kTeamStep = "start the threads";  ///< which OpenMP may end
inline constexpr const char* kTransferStep = "transfer";

/// What may keep MPI from starting, and the line that changes it, each.
using Obstacles = std::vector<std::array<std::string, 2>>;
inline constexpr const char* kMoreThreads =
    "ulimit -u, or the pids limit of the container or job; else fewer ranks or --threads";

/// How the process was started, from its environment.
struct LaunchFacts {
  std::string launcher = "none";  ///< "mpirun", "srun", "PMI", or "none"
  int launched_size = 0;        ///< processes that the launcher says it started; 0: it says nothing
  std::string told_by;          ///< the variable that says so
  std::string refusal;          ///< why training would refuse to start; empty if it would not
  bool in_slurm = false;        ///< inside an allocation of Slurm
  int slurm_tasks = 0;          ///< SLURM_NTASKS, 0 if it is not set
  int slurm_nodes = 0;          ///< SLURM_JOB_NUM_NODES or SLURM_NNODES
  int slurm_cpus_per_task = 0;  ///< SLURM_CPUS_PER_TASK
  std::string slurm_gpus;       ///< what Slurm says of GPUs, as NAME=VALUE; empty if nothing
  bool refuses_root = false;    ///< Open MPI's mpirun would not start for this user, who is root
  std::vector<std::string> settings{};  ///< variables that steer MPI and threads, as NAME=VALUE
  std::vector<FileSetting> file_settings{};  ///< the same in files that MPI and UCX read
  Obstacles obstacles{};                     ///< where MPI does not start, they may be why
};
/// By hand, because the key of the size is older than its name.
inline auto fields_of(const LaunchFacts&) {
  return std::tuple{Field{"file_settings", &LaunchFacts::file_settings},
                    Field{"in_slurm", &LaunchFacts::in_slurm},
                    Field{"launcher", &LaunchFacts::launcher},
                    Field{"obstacles", &LaunchFacts::obstacles},
                    Field{"refusal", &LaunchFacts::refusal},
                    Field{"refuses_root", &LaunchFacts::refuses_root},
                    Field{"settings", &LaunchFacts::settings},
                    Field{"slurm_cpus_per_task", &LaunchFacts::slurm_cpus_per_task},
                    Field{"slurm_gpus", &LaunchFacts::slurm_gpus},
                    Field{"slurm_nodes", &LaunchFacts::slurm_nodes},
                    Field{"slurm_tasks", &LaunchFacts::slurm_tasks},
                    Field{"told_by", &LaunchFacts::told_by},
                    Field{"told_size", &LaunchFacts::launched_size}};
}

/// Processor cores that the rank may use, and what training would run on them.
struct CoreFacts : ThreadChoice {
  std::vector<int> allowed;
  int online = 1;
  double quota = 0;          ///< cores' worth of time of the control group; 0: no limit
  double share = 1;          ///< cores that the rank counts as its own
  CoreList cores;            ///< of the host or the control group, as `machine_cores` gives them
  std::size_t launcher = 0;  ///< processors of the launcher, which may bind to fewer; 0: unknown
  double got = 1;            ///< part of its cores' time that it got, all ranks busy at once
  int team = 0;  ///< of `threads` that OpenMP was asked for, those it gave; 0: not asked
};
RUEDA_FACTS(CoreFacts, allowed, cores, got, launcher, online, quota, remark, share, team, threads)

/// GPUs as the rank sees them.
struct DeviceFacts : CudaDevices {
  bool built = false;          ///< the program has its CUDA part
  bool hardware = false;       ///< /dev/nvidia0 exists, whatever the driver says
  int takes = -1;              ///< index in `visible` of the one that the rank would take; -1: none
  std::size_t free_bytes = 0;  ///< bytes of that one, with the rank's context open
  std::string failure;         ///< why that one cannot be used; empty if it can
  std::string visible_devices;  ///< CUDA_VISIBLE_DEVICES; empty if not set
  std::string cudnn_compiled;   ///< empty without cuDNN
  std::string cudnn_loaded;

  /// The one that the rank would take, or nullptr.
  const CudaDevice* taken() const {
    const auto index = std::size_t(takes);
    return takes >= 0 && index < visible.size() ? &visible[index] : nullptr;
  }
};
RUEDA_FACTS(DeviceFacts, built, cudnn_compiled, cudnn_loaded, driver_version, failure, free_bytes,
            hardware, reason, runtime_version, takes, visible, visible_devices)

/// What MPI says of pointers to GPU memory, and what training concludes.
struct AwarenessFacts : CudaVerdict {
  std::string compiled = "unknown";
  std::string reported = "unknown";
};
RUEDA_FACTS(AwarenessFacts, aware, compiled, may_crash, reported, why)

/// Messages to the right neighbour.
struct LinkFacts : LinkSpeed {};
RUEDA_FACTS(LinkFacts, gb_per_second, latency_us)

using ClassCounts = decltype(DataCheck::train_per_class);

/// What this rank read below --data.
struct DataFacts : DataCheck {
  std::string failure;      ///< why it cannot be read; empty if it can
  std::string fingerprint;  ///< of both splits
};
RUEDA_FACTS(DataFacts, class_names, failure, files, fingerprint, form, place, remarks,
            test_per_class, train_per_class)

using Interfaces = std::vector<NetworkInterface>;

/// A rank, complete but for the transfer.
struct RankFacts {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  std::string host;
  std::string backend = "cpu";  ///< that training would choose; empty if it would refuse
  std::string backend_failure;
  std::vector<std::array<std::string, 2>> versions;  ///< components and their versions
  std::size_t host_memory_bytes = 0;  ///< bytes available on the rank's host, for all of its ranks
  std::size_t process_memory_bytes = 0;  ///< bytes that its own limits leave it; 0: no limit
  std::string limits;        ///< of its control groups and its own, with their sources; empty: none
  std::string copies_twice;  ///< why it may not read the memory of another process; empty if it may
  Interfaces network;        ///< of its host
  LaunchFacts launch;
  CoreFacts cores;
  DeviceFacts device;
  AwarenessFacts awareness;
  LinkFacts host_link;
  LinkFacts host_memory;  ///< what messages between ranks of the host could reach
  DataFacts data;
};
RUEDA_FACTS(RankFacts, awareness, backend, backend_failure, copies_twice, cores, data, device, host,
            host_link, host_memory, host_memory_bytes, launch, limits, local_rank, local_size,
            network, process_memory_bytes, rank, size, versions)

using Ranks = std::vector<RankFacts>;

inline bool sees_no_gpu(const RankFacts& rank) { return rank.device.visible.empty(); }
inline bool takes_gpu(const RankFacts& rank) { return rank.device.taken() != nullptr; }
/// Which training set and which test set it read; empty: none.
inline const std::string& print_of(const RankFacts& rank) { return rank.data.fingerprint; }

/// How a rank's part of the patterned transfer ended.
struct TransferFacts {
  enum class End {
    not_tried,  ///< one rank, or the run ended before
    arrived,    ///< every element came as it was sent
    wrong,      ///< messages came, with wrong elements
    failed,     ///< MPI or the device returned an error
    crashed,    ///< a signal ended it
    stalled,    ///< no end within the time
    waited,     ///< for a rank that crashed or failed
  } end = End::not_tried;
  bool device = false;                  ///< with GPU memory; else with host memory
  std::string detail;                   ///< the signal, the error, or the first wrong element
  LinkFacts link;                       ///< of device memory, once all has arrived
  double two_copies_gb_per_second = 0;  ///< as two_copies_speed; 0: not measured

  bool bad() const { return end != End::not_tried && end != End::arrived; }
};
constexpr auto words_of(TransferFacts::End) {
  return std::array{"not tried", "arrived", "wrong", "failed", "crashed", "stalled", "waited"};
}
RUEDA_FACTS(TransferFacts, detail, device, end, link, two_copies_gb_per_second)

/// The largest batch of one model.
struct BatchFacts {
  std::string model;
  int image_size = 0;
  std::string precision;
  std::size_t largest_batch = 0;  ///< 0: not even one image
  std::string failure;            ///< why the backend cannot say; empty if it can
};
RUEDA_FACTS(BatchFacts, failure, image_size, largest_batch, model, precision)

/// The largest batches for the memory at hand.
struct LargestBatches {
  std::string backend;           ///< that they were planned for; empty if training would refuse
  std::size_t memory_bytes = 0;  ///< bytes that a rank has for them
  std::vector<BatchFacts> models;
};
RUEDA_FACTS(LargestBatches, backend, memory_bytes, models)

/// How far the run of MPI came.
struct Progress {
  std::string step;     ///< the last one that began
  std::string trouble;  ///< how it ended if it did not end well; empty if it did
  bool own = false;     ///< the rank itself is the cause, as far as one can know
};
RUEDA_FACTS(Progress, own, step, trouble)

/// All that is known of a run, on the rank that speaks.
struct ClusterFacts {
  Ranks ranks;  ///< by rank; one's own alone if MPI never came that far
  LargestBatches largest_batch;
  std::vector<TransferFacts> transfers;  ///< by rank; empty if it was not begun
  Progress progress;
  std::map<std::string, RankFacts> hosts;  ///< a rank of each host that is known without MPI
  std::string data;                        ///< --data; empty: not asked for
  std::string asked_backend = "auto";
  bool allow_shared_gpu = false;

  /// The first rank that has read the data set, or nullptr.
  const RankFacts* data_reader() const {
    for (const RankFacts& rank : ranks)
      if (!print_of(rank).empty()) return &rank;
    return nullptr;
  }
};

/// "not there" of a component that it has not.
std::string version_of(const RankFacts& rank, const std::string& component);
/// Whether a process without a launcher may be followed by Open MPI's mpirun on the same machine.
bool awaits_open_mpi(const RankFacts& alone);

/// "rank 3", "ranks 0-2,5", or "all ranks" if it is all of several.
inline std::string ranks_text(const std::vector<int>& ranks, std::size_t of) {
  if (ranks.size() == of && of > 1) return "all ranks";
  return (ranks.size() == 1 ? "rank " : "ranks ") + ranges_text(ranks);
}

/// What is said of a rank; empty: nothing.
using TextOfRank = std::function<std::string(const RankFacts&)>;
/// The ranks of which the same is said, without those of which nothing is.
inline std::map<std::string, std::vector<int>> ranks_by(const Ranks& ranks,
                                                        const TextOfRank& text) {
  std::map<std::string, std::vector<int>> result;
  for (const RankFacts& rank : ranks) result[text(rank)].push_back(rank.rank);
  result.erase("");
  return result;
}

/// The ranks by the images that they read.
inline auto ranks_by_print(const ClusterFacts& cluster) {
  return ranks_by(cluster.ranks, print_of);
}

/// A rank of each host of which anything is known, with MPI or without.
std::map<std::string, RankFacts> known_hosts(const ClusterFacts& cluster);
/// Whether MPI did not start, so that nothing is known of other ranks but what their hosts left.
inline bool never_started(const ClusterFacts& cluster) {
  return cluster.progress.step == kStartStep && !cluster.progress.trouble.empty();
}
/// Whether what the hosts left of themselves says why MPI does not start.
bool hosts_explain_no_start(const ClusterFacts& cluster);

/// Addresses that several hosts have, "172.17.0.1 (docker0) on hb0 and hb1" each. MPI takes them
/// for a way from host to host, and its messages go nowhere.
std::vector<std::string> shared_addresses(const ClusterFacts& cluster);

/// Settings of a rank that may be the cause of a finding.
struct Steering {
  std::string what;    ///< " (NAME=VALUE is set)" of each, and where if in a file
  std::string change;  ///< "unset NAME; " of each, or what makes its line in a file a comment
};
inline constexpr const char* kMessageSettings =
    "^(OMPI_MCA_(btl|pml|mtl|osc)|UCX_|FI_|MPICH_|I_MPI_)";
/// What jobs/env.sh sets, none of which is the cause of a trouble.
inline constexpr const char* kOversubscribe = "OMPI_MCA_rmaps_base_oversubscribe=1";
inline constexpr const char* kOwnSettings =
    "^(OMPI_MCA_rmaps_base_oversubscribe=1|PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe|"
    "OMPI_MCA_btl_base_warn_component_unused=0|OMPI_MCA_btl_vader_single_copy_mechanism=none)$";
/// Beside another program a rank that leaves its core pays a time slice for each message.
inline constexpr const char* kLeavesItsCore = "^OMPI_MCA_mpi_yield_when_idle=1$";
inline constexpr const char* kThreadSettings =
    "^(OMP_PROC_BIND|OMP_PLACES|[GK].*AFFINITY)=(?!false|none)";
/// What the package of a distribution sets in a file: it leaves out what only networks need.
inline constexpr const char* kPackaged =
    "^OMPI_MCA_(btl|mtl|osc|pml)=\\^(,?(ofi|openib|pt2pt|ucx|uct))+$";
/// The settings that match, as NAME=VALUE of a variable, without those that are never the cause.
Steering settings_like(const char* pattern, const LaunchFacts& launch);

/// The GPU that the rank takes, by host and UUID; empty: none.
std::string gpu_of(const RankFacts& rank);

/// The ranks of each host, in order.
inline std::map<std::string, std::vector<const RankFacts*>> ranks_by_host(const Ranks& ranks) {
  std::map<std::string, std::vector<const RankFacts*>> result;
  for (const RankFacts& rank : ranks) result[rank.host].push_back(&rank);
  return result;
}

enum class Severity {
  remark,  ///< training works, but slower or otherwise than it could
  fault,   ///< training will not work
};
constexpr auto words_of(Severity) { return std::array{"remark", "fault"}; }

/// One thing to know, and the line to change.
struct Finding {
  Severity severity = Severity::remark;
  std::string what;
  std::string change;
};
RUEDA_FACTS(Finding, change, severity, what)

using Findings = std::vector<Finding>;

/// All findings of a run; faults come first. A pure function of the facts.
Findings all_findings(const ClusterFacts& cluster);

/// "ok", "works with remarks" or "will not work".
std::string verdict(const Findings& findings);
bool works(const Findings& findings);

/// All tables but the transfer's, for a page of 80 columns.
std::string machine_report(const ClusterFacts& cluster);

/// The transfer, the findings, the verdict.
std::string outcome_report(const ClusterFacts& cluster, const Findings& findings);

/// What --json writes: the verdict, the findings, and all facts.
std::string report_json(const ClusterFacts& cluster, const Findings& findings);

/// For each text that ranks have: `what` with {0} for these ranks, {1} for the text.
void add_for_ranks(const ClusterFacts& cluster, Findings& findings, Severity severity,
                   const char* what, const std::string& change, const TextOfRank& text);

// Parts of all_findings; but for the first of a run that has facts of ranks.
void find_in_start(const ClusterFacts& cluster, Findings& findings);
void find_in_devices(const ClusterFacts& cluster, Findings& findings);
void find_in_cores(const ClusterFacts& cluster, Findings& findings);
void find_in_network(const ClusterFacts& cluster, Findings& findings);
void find_in_links(const ClusterFacts& cluster, Findings& findings);

}  // namespace rueda::doctor
