#include "rueda/reduce/rank_group.hpp"
#include "run/wiring/make_all_reduce.hpp"

#if RUEDA_WITH_NCCL
#include "cuda/backend/nccl_all_reduce.hpp"
#endif

namespace rueda {

#if RUEDA_WITH_NCCL
std::unique_ptr<AllReduce> make_nccl(Communicator& ranks, ReduceDevice& device) {
  auto* gpu = dynamic_cast<cuda::CudaReduceDevice*>(&device);
  require_agreed(gpu != nullptr,
                 "--all-reduce nccl sums on GPUs, and these gradients are in host memory: "
                 "give --all-reduce ring");
  return cuda::make_nccl_all_reduce(ranks, *gpu);
}
#else
std::unique_ptr<AllReduce> make_nccl(Communicator&, ReduceDevice&) {
  throw_agreed(
      ExitCode::bad_input,
      "--all-reduce nccl: this program was built without NCCL (nccl.h and libnccl were not found, "
      "or -Dnccl=disabled): give --all-reduce ring");
}
#endif

}  // namespace rueda
