#include <algorithm>

#include <spdlog/fmt/fmt.h>

#include "findings.hpp"

namespace rueda::doctor {
namespace {

using End = TransferFacts::End;

/// The ends that a rank causes itself, the surest cause first.
constexpr std::pair<End, const char*> kCauses[] = {{End::crashed, "crashed"},
                                                   {End::failed, "failed"},
                                                   {End::wrong, "brought wrong elements"},
                                                   {End::stalled, "did not end"}};

/// "crashed on rank 1 (signal 11)": the ranks that caused it, without those that only waited.
std::string how_it_ended(const std::vector<TransferFacts>& transfers) {
  std::vector<std::string> causes;
  for (const auto& [end, words] : kCauses) {
    std::vector<int> ranks;
    std::string detail;
    for (std::size_t r = 0; r < transfers.size(); ++r) {
      if (transfers[r].end != end) continue;
      ranks.push_back(static_cast<int>(r));
      if (detail.empty()) detail = transfers[r].detail;
    }
    if (ranks.empty()) continue;
    causes.push_back(fmt::format("{} on {}{}", words, ranks_text(ranks, transfers.size()),
                                 detail.empty() ? "" : " (" + detail + ")"));
  }
  if (!causes.empty()) return fmt::format("{}", fmt::join(causes, "; "));
  const auto ended = std::find_if(transfers.begin(), transfers.end(),
                                  [](const TransferFacts& t) { return !t.detail.empty(); });
  return ended == transfers.end() ? "did not end"
                                  : "was ended from outside (" + ended->detail + ")";
}

bool any_bad(const std::vector<TransferFacts>& transfers) {
  return std::any_of(transfers.begin(), transfers.end(),
                     [](const TransferFacts& t) { return t.bad(); });
}

void find_device_fault(const ClusterFacts& cluster, Findings& findings) {
  const AwarenessFacts& awareness = cluster.ranks.front().awareness;
  const std::string ended =
      "messages straight from GPU memory: the transfer " + how_it_ended(cluster.transfers);
  if (awareness.aware) {
    add(findings, Severity::fault, ended + ", although MPI calls itself CUDA-aware",
        "rueda train --transport staged ...  or an MPI that takes GPU memory: module load a "
        "CUDA-aware one");
  } else {
    add(findings, Severity::remark,
        ended + "; MPI is not CUDA-aware, so training sends through host memory",
        "module load a CUDA-aware MPI; to be silent about it: rueda train --transport staged ...");
  }
}

void find_host_fault(const ClusterFacts& cluster, Findings& findings) {
  add(findings, Severity::fault,
      "messages between ranks: the transfer " + how_it_ended(cluster.transfers),
      "mpirun --mca btl tcp,self rueda doctor  shows if shared memory or the network is at fault");
}

/// MPI says that it is not CUDA-aware, but the device's memory arrived: so does UCX below an Open
/// MPI that was built without CUDA.
void find_unused_awareness(const ClusterFacts& cluster, Findings& findings) {
  const bool on_device = cluster.transfers.front().device;
  const bool arrived = std::all_of(cluster.transfers.begin(), cluster.transfers.end(),
                                   [](const TransferFacts& t) { return t.end == End::arrived; });
  if (!on_device || !arrived || cluster.ranks.front().awareness.aware) return;
  add(findings, Severity::remark,
      "GPU memory arrived by MPI_Sendrecv although MPI does not call itself CUDA-aware; training "
      "would send through host memory",
      "rueda train --transport device ...");
}

}  // namespace

void find_in_transfers(const ClusterFacts& cluster, Findings& findings) {
  if (cluster.transfers.empty() || cluster.ranks.empty()) return;
  if (!any_bad(cluster.transfers)) return find_unused_awareness(cluster, findings);
  const bool on_device = std::any_of(cluster.transfers.begin(), cluster.transfers.end(),
                                     [](const TransferFacts& t) { return t.device; });
  on_device ? find_device_fault(cluster, findings) : find_host_fault(cluster, findings);
}

}  // namespace rueda::doctor
