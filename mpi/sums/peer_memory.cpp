#include "mpi/sums/peer_memory.hpp"

#include <exception>

#include <fmt/format.h>

#include "base/error.hpp"
#include "mpi/session/mpi_call.hpp"

namespace rueda {
namespace {

/// What an error of a device means here.
[[noreturn]] void refuse(const std::string& what, const RunError& error) {
  throw InputError(fmt::format(
      "--all-reduce shared has GPUs read each other's memory (CUDA IPC), and this one cannot {}: "
      "{}. All ranks have to see all GPUs (Slurm: --gres or --gpus, not --gpus-per-task; "
      "containers: one for all ranks), and each GPU has to reach every other one (nvidia-smi topo "
      "-p2p r): mend that, or give --all-reduce ring",
      what, error.what()));
}

}  // namespace

PeerMemory::PeerMemory(RankGroup& ranks, ReduceDevice& device, std::size_t floats)
    : ranks_(ranks), device_(device), uncaught_(std::uncaught_exceptions()) {
  require_agreed(std::size_t(ranks.size()) <= kMostSummed,
                 fmt::format("--all-reduce shared sums over up to {} ranks on GPUs, and these are "
                             "{}: give --all-reduce ring",
                             kMostSummed, ranks.size()));
  PeerHandle mine{};
  together(ranks, [&] { make_own(floats, mine); });
  const std::vector<PeerHandle> handles = all_gather(ranks, mine);
  try {
    together(ranks, [&] {
      for (int rank = 0; rank < ranks.size(); ++rank) map(rank, handles[std::size_t(rank)]);
    });
  } catch (const std::exception& error) {
    if (is_agreed(error)) give_up();
    throw;
  }
}

/// Too little memory is another matter than a refusal.
void PeerMemory::make_own(std::size_t floats, PeerHandle& handle) try {
  own_ = device_.make_peer_block(floats, handle);
} catch (const OutOfMemory&) {
  throw;
} catch (const RunError& error) {
  refuse("share its own", error);
}

void PeerMemory::map(int rank, const PeerHandle& theirs) try {
  blocks_.push_back(rank == ranks_.rank() ? own_ : device_.map_peer_block(theirs));
} catch (const RunError& error) {
  refuse(fmt::format("map that of rank {}", rank), error);
}

PeerMemory::~PeerMemory() {
  if (std::uncaught_exceptions() != uncaught_ || !mpi_is_active()) return;
  try {
    give_up();
  } catch (const Error&) {  // MPI is broken, and its next call says so
  }
}

void PeerMemory::give_up() {
  blocks_.clear();
  ranks_.barrier();
  own_.reset();
}

}  // namespace rueda
