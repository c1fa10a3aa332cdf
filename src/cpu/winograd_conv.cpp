#include <algorithm>

#include "cpu/operations.hpp"
#include "cpu/winograd.hpp"

namespace rueda::cpu {
namespace {

/// With fewer tiles of 4x4 outputs transforming the weights can cost more than it saves.
constexpr std::size_t kLeastTiles = 8;

Winograd::Shape shape_of(const OperationRequest& r, const ConvNode& conv) {
  const Shape& to = r.self().output;
  return {std::size_t(r.batch), std::size_t(to.height), std::size_t(to.width),
          std::size_t(r.graph.shape(r.input()).channels), std::size_t(conv.filters)};
}

class WinogradConv final : public Operation {
 public:
  WinogradConv(const OperationRequest& r, const ConvNode& conv)
      : r_(r), conv_(conv), winograd_(shape_of(r, conv), r.input_view(), r.output_view()) {
    r_.context.request_scratch(winograd_.scratch_bytes());
  }

  OperationNeeds needs() const override { return {.keeps_input = true}; }
  void bind(const OperationMemory& m) override { memory_ = m; }
  void forward() override { run(Product::forward); }
  void backward() override {
    run(Product::data);
    run(Product::weights);
  }

  bool run(Product product) override {
    float* const scratch = r_.context.scratch.floats().data();
    const float* const input = elements<float>(memory_.inputs.front());
    const float* const weights = r_.value(conv_.weight);
    if (product == Product::forward) {
      winograd_.forward(input, weights, elements<float>(memory_.output), scratch);
      return true;
    }
    const float* const output_gradient = elements<float>(memory_.output_gradients.front());
    if (product == Product::weights) {
      winograd_.weight_gradient(input, output_gradient, r_.gradient(conv_.weight), scratch);
      return true;
    }
    std::byte* const to = memory_.input_gradients.front();
    if (to != nullptr)
      winograd_.data_gradient(output_gradient, weights, elements<float>(to), scratch);
    return to != nullptr;
  }

 private:
  OperationRequest r_;
  ConvNode conv_;
  Winograd winograd_;
  OperationMemory memory_;
};

}  // namespace

bool takes_winograd(const OperationRequest& r, const ConvNode& conv) {
  const bool fits = conv.kernel == 3 && conv.stride == 1 && conv.padding == 1 &&
                    conv.bias == kNone && !r.has_residual() && !r.output_view().bf16 &&
                    Winograd::reads(r.input_view()) && Winograd::reads(r.output_view());
  if (!fits) return false;
  const Winograd::Shape shape = shape_of(r, conv);
  return shape.tiles() >= kLeastTiles && shape.inputs % Winograd::kChannels == 0 &&
         shape.outputs % Winograd::kChannels == 0;
}

std::unique_ptr<Operation> make_winograd(const OperationRequest& request, const ConvNode& conv) {
  return std::make_unique<WinogradConv>(request, conv);
}

}  // namespace rueda::cpu
