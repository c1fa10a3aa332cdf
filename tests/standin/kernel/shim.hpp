#pragma once

// Included before a .cu file so that g++ compiles it as C++: CUDA's keywords mean what the stand-in
// makes of them, and launches go to its streams. Of shared memory only arrays of fixed size are
// known.

#include <functional>
#include <tuple>
#include <utility>

#include <cuda_runtime.h>

#include "block.hpp"
#include "intrinsics.hpp"

// Threads of one block run in one thread of the host, those of other streams in others.
#undef __shared__
#define __shared__ static thread_local
#undef __launch_bounds__
#define __launch_bounds__(...)

namespace rueda::standin {

/// Queues a launch. cudaErrorInvalidConfiguration if a device could not hold such a block or grid.
cudaError_t launch_kernel(const cudaLaunchConfig_t& config, std::function<void()> kernel);

/// Arguments are copied when the kernel is queued, as CUDA copies them.
template <typename... Parameters, typename... Arguments>
cudaError_t launch_with(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                        Arguments&&... arguments) {
  const std::tuple<Parameters...> kept(std::forward<Arguments>(arguments)...);
  return launch_kernel(*config, [=] { std::apply(kernel, kept); });
}

}  // namespace rueda::standin

// CUDA's own is a template that is there already.
#define cudaLaunchKernelEx ::rueda::standin::launch_with
