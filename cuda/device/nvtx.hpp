#pragma once

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define RUEDA_WITH_NVTX 1
#else
#define RUEDA_WITH_NVTX 0
#endif

namespace rueda::cuda {

/// Begins a stretch of this thread's time that profilers show under `name`. Ranges lie in each
/// other. Without a profiler, or where the toolkit has no NVTX, nothing happens.
inline void push_range(const char* name) {
#if RUEDA_WITH_NVTX
  nvtxRangePushA(name);
#else
  static_cast<void>(name);
#endif
}

inline void pop_range() {
#if RUEDA_WITH_NVTX
  nvtxRangePop();
#endif
}

/// A range as long as a scope.
class NvtxRange {
 public:
  explicit NvtxRange(const char* name) { push_range(name); }
  ~NvtxRange() { pop_range(); }
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;
};

}  // namespace rueda::cuda
