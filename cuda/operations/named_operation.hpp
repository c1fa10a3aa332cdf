#pragma once

#include <memory>
#include <string>
#include <utility>

#include "rueda/backend/operation.hpp"

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

/// An operation whose calls profilers show under its layer's name.
class NamedOperation final : public Operation {
 public:
  NamedOperation(std::unique_ptr<Operation> operation, std::string name)
      : operation_(std::move(operation)), name_(std::move(name)) {}

  OperationNeeds needs() const override { return operation_->needs(); }
  void bind(const OperationMemory& memory) override { operation_->bind(memory); }
  void forward() override {
    const NvtxRange range(name_.c_str());
    operation_->forward();
  }
  void recompute() override {
    const NvtxRange range(name_.c_str());
    operation_->recompute();
  }
  void backward() override {
    const NvtxRange range(name_.c_str());
    operation_->backward();
  }

 private:
  std::unique_ptr<Operation> operation_;
  std::string name_;
};

}  // namespace rueda::cuda
