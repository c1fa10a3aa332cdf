#include <utility>

#include "shim.hpp"
#include "tests/standin/runtime/error.hpp"
#include "tests/standin/runtime/stream.hpp"

namespace rueda::standin {
namespace {

bool fits(dim3 grid, dim3 block) {
  const auto threads = std::uint64_t{block.x} * block.y * block.z;
  return threads >= 1 && threads <= 1024 && block.z <= 64 && grid.x >= 1 && grid.y >= 1 &&
         grid.z >= 1 && grid.x <= 0x7fffffffU && grid.y <= 0xffffU && grid.z <= 0xffffU;
}

}  // namespace

cudaError_t launch_kernel(const cudaLaunchConfig_t& config, std::function<void()> kernel) {
  const dim3 grid = config.gridDim;
  const dim3 block = config.blockDim;
  if (!fits(grid, block)) return note(cudaErrorInvalidConfiguration);
  return note(submit(
      config.stream, [=, kernel = std::move(kernel)] { run_grid(grid, block, kernel); },
      cudaGraphNodeTypeKernel));
}

}  // namespace rueda::standin
