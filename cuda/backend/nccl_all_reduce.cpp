#include "nccl_all_reduce.hpp"

#include <exception>
#include <string>

#include "rueda/core/error.hpp"

namespace rueda::cuda {
namespace {

void check_nccl(ncclResult_t result, const char* call) {
  if (result == ncclSuccess) return;
  const char* more = ncclGetLastError(nullptr);
  throw RunError(std::string(call) + ": " + ncclGetErrorString(result) +
                 (more != nullptr && *more != '\0' ? std::string(" (") + more + ")" : ""));
}

/// The same on all ranks.
ncclUniqueId agree_on_id(RankGroup& ranks) {
  ncclUniqueId id{};
  together(ranks, [&] {
    if (ranks.rank() == 0) check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
  });
  ranks.broadcast(std::as_writable_bytes(std::span(&id, 1)), 0);
  return id;
}

}  // namespace

NcclAllReduce::NcclAllReduce(RankGroup& ranks, CudaReduceDevice& device)
    : device_(device), size_(ranks.size()) {
  const ncclUniqueId id = agree_on_id(ranks);
  device_.select();
  together(ranks, [&] {
    check_nccl(ncclCommInitRank(&comm_, size_, id, ranks.rank()), "ncclCommInitRank");
  });
}

/// Where an error unwinds, peers may never come to end this together.
NcclAllReduce::~NcclAllReduce() {
  if (comm_ == nullptr) return;
  static_cast<void>(std::uncaught_exceptions() == 0 ? ncclCommDestroy(comm_)
                                                    : ncclCommAbort(comm_));
}

rueda::Event NcclAllReduce::sum(std::span<float> slice, rueda::Event ready) {
  if (size_ == 1 || slice.empty()) return ready;
  device_.wait(ready);
  device_.select();
  journal().transfer("ncclAllReduce", 0, -1, -1, [&] {
    check_nccl(ncclAllReduce(slice.data(), slice.data(), slice.size(), ncclFloat32, ncclSum, comm_,
                             device_.stream()),
               "ncclAllReduce");
    device_.wait(device_.record_own());
  });
  return {};
}

}  // namespace rueda::cuda
