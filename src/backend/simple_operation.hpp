#pragma once

#include <functional>
#include <utility>

#include "rueda/backend/operation.hpp"

namespace rueda {

/// An operation whose memory is all that it has to know when it runs.
class SimpleOperation final : public Operation {
 public:
  using Work = std::function<void(const OperationMemory&)>;
  /// Without `recompute` that is `forward`.
  SimpleOperation(OperationNeeds needs, Work forward, Work backward, Work recompute = {})
      : needs_(needs),
        forward_(std::move(forward)),
        backward_(std::move(backward)),
        recompute_(recompute ? std::move(recompute) : forward_) {}

  OperationNeeds needs() const override { return needs_; }
  void bind(const OperationMemory& memory) override { memory_ = memory; }
  void forward() override { forward_(memory_); }
  void recompute() override { recompute_(memory_); }
  void backward() override { backward_(memory_); }

 private:
  OperationNeeds needs_;
  Work forward_, backward_, recompute_;
  OperationMemory memory_;
};

}  // namespace rueda
