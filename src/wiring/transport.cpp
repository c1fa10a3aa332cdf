#include "transport.hpp"

#include <algorithm>
#include <cstdlib>

#include "rueda/core/error.hpp"

namespace rueda {
namespace {

std::string staging_warning(const std::string& why) {
  return "gradients are staged through host memory, which takes longer: " + why +
         " (--transport staged says so without this warning, --transport device hands MPI GPU "
         "memory all the same)";
}

}  // namespace

const char* to_string(Transport transport) {
  if (transport == Transport::host) return "host";
  return transport == Transport::device ? "device" : "staged";
}

TransportDecision decide_transport(TransportChoice choice, bool memory_is_on_host,
                                   const CudaVerdict& mpi) {
  if (memory_is_on_host) {
    if (choice == TransportChoice::automatic) return {};
    throw InputError(std::string("--transport ") + to_string(choice) +
                     ": the cpu backend keeps gradients in host memory, which every MPI reads as "
                     "it is and which needs no staging; leave --transport at auto");
  }
  if (choice == TransportChoice::staged) return {Transport::staged, ""};
  if (choice == TransportChoice::device || mpi.aware) return {Transport::device, ""};
  return {Transport::staged, staging_warning(mpi.why)};
}

TransportDecision settle_transport(RankGroup& group, TransportChoice choice,
                                   const ReduceDevice& device) {
  TransportDecision mine;
  together(group, [&] {
    const bool on_host = device.memory_is_on_host();
    CudaVerdict verdict;
    if (!on_host) verdict = judge_cuda_awareness(read_cuda_signals(std::getenv));
    mine = decide_transport(choice, on_host, verdict);
  });
  const auto words = all_gather_text(group, to_string(mine.transport));
  const auto warnings = all_gather_text(group, mine.warning);
  // A rank that stages sends pieces, so its peers have to as well.
  if (std::find(words.begin(), words.end(), to_string(Transport::staged)) != words.end()) {
    mine.transport = Transport::staged;
  }
  mine.warning.clear();
  const auto said = std::find_if(warnings.begin(), warnings.end(),
                                 [](const std::string& text) { return !text.empty(); });
  if (group.size() > 1 && group.rank() == 0 && said != warnings.end()) mine.warning = *said;
  return mine;
}

}  // namespace rueda
