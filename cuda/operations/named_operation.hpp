#pragma once

#include <memory>
#include <string>
#include <utility>

#include "cuda/device/nvtx.hpp"
#include "rueda/backend/operation.hpp"

namespace rueda::cuda {

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
