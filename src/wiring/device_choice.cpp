#include "device_choice.hpp"

#include "launcher_env.hpp"
#include "open_backend.hpp"
#if RUEDA_WITH_CUDA
#include "cuda/device/device_query.hpp"
#endif

namespace rueda {

DeviceChoice choose_device(std::optional<int> local_rank, bool has_peers, int visible) {
  if (visible == 1) return {};
  if (local_rank) return {*local_rank % visible, ""};
  if (!has_peers) return {};
  return {0, "the launcher does not tell this rank's place on its node, so it takes the first of " +
                 std::to_string(visible) +
                 " GPUs; start with mpirun or srun, or show each rank one GPU by "
                 "CUDA_VISIBLE_DEVICES"};
}

#if RUEDA_WITH_CUDA
SelectedDevice select_device(BackendChoice backend) {
  SelectedDevice selected;
  try {
    if (!wants_cuda(backend)) return selected;
    const auto devices = cuda_devices().devices;
    if (devices.empty()) return selected;  // open_backend says why
    const DeviceChoice choice =
        choose_device(local_rank(), has_peers(), static_cast<int>(devices.size()));
    cuda::select_device(choice.ordinal);
    selected.uuid = devices.at(static_cast<std::size_t>(choice.ordinal)).uuid;
    selected.remark = choice.remark;
  } catch (...) {
    selected.failure = std::current_exception();
  }
  return selected;
}
#else
SelectedDevice select_device(BackendChoice) { return {}; }
#endif

}  // namespace rueda
