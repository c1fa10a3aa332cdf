#include "cuda/backend/nccl_all_reduce.hpp"

#include <exception>

#include <fmt/format.h>
#include <nccl.h>

#include "base/error.hpp"
#include "reduce/reduce_journal.hpp"

namespace rueda::cuda {
namespace {

void check_nccl(ncclResult_t result, const char* call) {
  if (result == ncclSuccess) return;
  std::string text = fmt::format("{}: {}", call, ncclGetErrorString(result));
  const char* more = ncclGetLastError(nullptr);
  if (more != nullptr && *more != '\0') text += fmt::format(" ({})", more);
  throw RunError(text);
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

class NcclAllReduce final : public AllReduce {
 public:
  NcclAllReduce(RankGroup& ranks, CudaReduceDevice& device) : device_(device), size_(ranks.size()) {
    const ncclUniqueId id = agree_on_id(ranks);
    device_.select();
    together(ranks, [&] {
      check_nccl(ncclCommInitRank(&comm_, size_, id, ranks.rank()), "ncclCommInitRank");
    });
  }
  /// Where an error unwinds, peers may never come to end this together.
  ~NcclAllReduce() override {
    if (comm_ == nullptr) return;
    static_cast<void>(std::uncaught_exceptions() == 0 ? ncclCommDestroy(comm_)
                                                      : ncclCommAbort(comm_));
  }
  NcclAllReduce(const NcclAllReduce&) = delete;

  std::string_view name() const override { return "nccl"; }
  /// All time counts as transfer, NCCL's additions included.
  rueda::Event sum(std::span<float> slice, rueda::Event ready, ReduceJournal& journal) override {
    if (size_ == 1 || slice.empty()) return ready;
    device_.wait(ready);
    const auto entry = journal.transfer("ncclAllReduce", 0, -1, -1);
    check_nccl(ncclAllReduce(slice.data(), slice.data(), slice.size(), ncclFloat32, ncclSum, comm_,
                             device_.stream()),
               "ncclAllReduce");
    device_.wait(device_.record_own());
    return {};
  }
  /// None of ours; NCCL's own buffers are not known.

 private:
  CudaReduceDevice& device_;
  int size_;
  ncclComm_t comm_ = nullptr;
};

}  // namespace

std::unique_ptr<AllReduce> make_nccl_all_reduce(RankGroup& ranks, CudaReduceDevice& device) {
  return std::make_unique<NcclAllReduce>(ranks, device);
}

}  // namespace rueda::cuda
