#pragma once

/// Marks the single-source arithmetic of `kernels/`: plain inline functions for
/// a host compiler, `__host__ __device__` functions under nvcc, so both run the
/// very same expressions.
#if defined(__CUDACC__)
#define RUEDA_HOST_DEVICE __host__ __device__
#else
#define RUEDA_HOST_DEVICE
#endif
