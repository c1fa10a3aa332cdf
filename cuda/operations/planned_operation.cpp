#include "cuda/operations/operations.hpp"

namespace rueda::cuda {

void PlannedOperation::bind(const OperationMemory& memory) {
  memory_ = memory;
  forward_ = launches_.forward(epilogue());
  recompute_ = launches_.recompute(epilogue());
  if (memory.output_gradients.empty()) return;
  backward_ = launches_.backward({.summands = memory.output_gradients.size(),
                                  .adds = memory.gradient_addend != nullptr,
                                  .wants_input = memory.input_gradients.front() != nullptr});
}

void* PlannedOperation::place(Tensor tensor) const {
  switch (tensor) {
    case Tensor::input:
      return memory_.inputs.at(0);
    case Tensor::residual:
      return memory_.inputs.at(1);
    case Tensor::output:
      return memory_.output;
    case Tensor::windows:
    case Tensor::winners:
      return memory_.workspace;
    case Tensor::output_gradient:
      return memory_.output_gradients.at(0);
    case Tensor::other_gradient:
      return memory_.output_gradients.at(1);
    case Tensor::addend:
      return const_cast<std::byte*>(memory_.gradient_addend);
    case Tensor::input_gradient:
      return memory_.input_gradients.at(0);
    case Tensor::residual_gradient:
      return memory_.input_gradients.at(1);
    default:
      return place_of(tensor);
  }
}

}  // namespace rueda::cuda
