#include <utility>

#include "operations.hpp"

// Operations that are one kernel each way.

namespace rueda::cuda {
namespace {

class Add final : public Operation {
 public:
  Add(const OperationRequest& r, const AddNode& add)
      : context_(r.context),
        relu_(add.relu),
        element_(r.element()),
        count_(r.rows_of(r.node) * static_cast<std::size_t>(r.self().output.channels)) {}

  OperationNeeds needs() const override {
    if (!relu_) return {.passes_gradient = 0b11};
    return {.keeps_output = true, .sums_gradients = true, .shares_input_gradient = true};
  }
  void bind(const OperationMemory& m) override { memory_ = m; }

  void forward() override {
    check(add_activations(element_, memory_.output, memory_.inputs[0], memory_.inputs[1], count_,
                          relu_, context_.stream.get()),
          "add_activations");
  }
  void backward() override {
    if (!relu_) return;
    const auto& dy = memory_.output_gradients;
    check(mask_gradient(element_, memory_.input_gradients[0], memory_.output, dy[0],
                        dy.size() > 1 ? dy[1] : nullptr, count_, context_.stream.get()),
          "mask_gradient");
  }

 private:
  Context& context_;
  bool relu_;
  Element element_;
  std::size_t count_;
  OperationMemory memory_;
};

class MaxPool final : public Operation {
 public:
  MaxPool(const OperationRequest& r, const MaxPoolNode& pool)
      : context_(r.context),
        train_(r.mode == Mode::train),
        work_{.element = r.element(),
              .in = r.shape_of(r.input()),
              .out = r.shape_of(r.node),
              .kernel = pool.kernel,
              .stride = pool.stride,
              .padding = pool.padding,
              .zeros = pool.filled_with == PoolPadding::zeros},
        outputs_(r.rows_of(r.node) * static_cast<std::size_t>(r.self().output.channels)) {}

  OperationNeeds needs() const override { return {.workspace_bytes = train_ ? outputs_ : 0}; }
  void bind(const OperationMemory& m) override { memory_ = m; }

  void forward() override {
    check(max_pool(work_, memory_.output, memory_.inputs[0], winners(), context_.stream.get()),
          "max_pool");
  }
  void backward() override {
    check(max_pool_backward(work_, memory_.input_gradients[0], memory_.output_gradients[0],
                            winners(), context_.stream.get()),
          "max_pool_backward");
  }

 private:
  std::uint8_t* winners() const { return reinterpret_cast<std::uint8_t*>(memory_.workspace); }

  Context& context_;
  bool train_;
  PoolWork work_;
  std::size_t outputs_;
  OperationMemory memory_;
};

class PadShortcut final : public Operation {
 public:
  PadShortcut(const OperationRequest& r, const PadShortcutNode& pad)
      : context_(r.context),
        stride_(pad.stride),
        element_(r.element()),
        in_(r.shape_of(r.input())),
        out_(r.shape_of(r.node)) {}

  OperationNeeds needs() const override { return {}; }
  void bind(const OperationMemory& m) override { memory_ = m; }

  void forward() override {
    check(pad_shortcut(element_, memory_.output, memory_.inputs[0], in_, out_, stride_,
                       context_.stream.get()),
          "pad_shortcut");
  }
  void backward() override {
    if (memory_.input_gradients[0] == nullptr) return;
    check(pad_shortcut_backward(element_, memory_.input_gradients[0], memory_.output_gradients[0],
                                in_, out_, stride_, context_.stream.get()),
          "pad_shortcut_backward");
  }

 private:
  Context& context_;
  int stride_;
  Element element_;
  ImageShape in_;
  ImageShape out_;
  OperationMemory memory_;
};

class GlobalAveragePool final : public Operation {
 public:
  explicit GlobalAveragePool(const OperationRequest& r)
      : context_(r.context), element_(r.input_element()), in_(r.shape_of(r.input())) {}

  OperationNeeds needs() const override { return {}; }
  void bind(const OperationMemory& m) override { memory_ = m; }

  void forward() override {
    auto* y = reinterpret_cast<float*>(memory_.output);
    check(global_average_pool(element_, y, memory_.inputs[0], in_, context_.stream.get()),
          "global_average_pool");
  }
  void backward() override {
    if (memory_.input_gradients[0] == nullptr) return;
    const auto* dy = reinterpret_cast<const float*>(memory_.output_gradients[0]);
    check(global_average_pool_backward(element_, memory_.input_gradients[0], dy, in_,
                                       context_.stream.get()),
          "global_average_pool_backward");
  }

 private:
  Context& context_;
  Element element_;
  ImageShape in_;
  OperationMemory memory_;
};

}  // namespace

std::unique_ptr<Operation> make_add(const OperationRequest& request, const AddNode& add) {
  return std::make_unique<Add>(request, add);
}
std::unique_ptr<Operation> make_max_pool(const OperationRequest& request, const MaxPoolNode& pool) {
  return std::make_unique<MaxPool>(request, pool);
}
std::unique_ptr<Operation> make_pad_shortcut(const OperationRequest& request,
                                             const PadShortcutNode& pad) {
  return std::make_unique<PadShortcut>(request, pad);
}
std::unique_ptr<Operation> make_global_average_pool(const OperationRequest& request) {
  return std::make_unique<GlobalAveragePool>(request);
}

}  // namespace rueda::cuda
