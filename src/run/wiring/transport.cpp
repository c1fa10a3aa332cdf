#include "run/wiring/transport.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"

namespace rueda {

TransportDecision decide_transport(TransportChoice choice, bool memory_is_on_host,
                                   const CudaVerdict& mpi) {
  if (memory_is_on_host) {
    if (choice == TransportChoice::automatic) return {};
    throw InputError(std::string("--transport ") + to_string(choice) +
                     ": the cpu backend keeps gradients in host memory, which every MPI reads as "
                     "it is and which needs no staging; leave --transport at auto");
  }
  if (choice == TransportChoice::staged) return {Transport::staged, ""};
  if (choice == TransportChoice::device && mpi.may_crash)  // a site may have mended its UCX
    return {Transport::device, "--transport device: " + mpi.why};
  if (choice == TransportChoice::device || mpi.aware) return {Transport::device, ""};
  return {Transport::staged,
          "gradients are staged through host memory, which takes longer: " + mpi.why +
              " (--transport staged does the same without this warning, --transport device hands "
              "MPI GPU memory nevertheless)"};
}

TransportDecision agree_on_transport(RankGroup& group, TransportChoice choice,
                                     const ReduceDevice& device) {
  TransportDecision mine;
  together(group, [&] {
    const bool on_host = device.memory_is_on_host();
    CudaVerdict verdict;
    if (!on_host) verdict = judge_cuda_awareness(read_cuda_signals(std::getenv));
    mine = decide_transport(choice, on_host, verdict);
  });
  const auto warnings = all_gather_text(group, mine.warning);
  // A rank that stages sends pieces, so its peers have to as well.
  if (max_over_ranks(group, mine.transport == Transport::staged))
    mine.transport = Transport::staged;
  mine.warning.clear();
  for (const std::string& text : warnings)  // the first one
    if (group.size() > 1 && group.rank() == 0 && mine.warning.empty()) mine.warning = text;
  return mine;
}

}  // namespace rueda
