#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "backend/memory_plan.hpp"
#include "cpu/operations.hpp"
#include "cpu/parallel.hpp"

namespace rueda::cpu {
namespace {

using dnnl::memory;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;

constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;

/// Shapes of one convolution; the weights' layout is left to oneDNN, the
/// activations' is ours. Weights are of the activations' type, their gradient
/// and the bias are fp32.
struct ConvShape {
  memory::desc source, weights, weights_gradient, bias, output;
  memory::dims strides, padding;

  ConvShape(const OperationRequest& r, const ConvNode& conv)
      : source(r.input_desc()), output(r.output_desc()) {
    const Parameter& weight = r.graph.parameter(conv.weight);
    weights = conv_weight_desc(weight, r.input_view().bf16, memory::format_tag::any);
    weights_gradient = conv_weight_desc(weight, false, memory::format_tag::any);
    if (conv.bias != kNone) bias = vector_desc(std::size_t(conv.filters));
    strides = {conv.stride, conv.stride};
    padding = {conv.padding, conv.padding};
  }
};

/// Inference computes as training does, from the same packed weights.
Forward::primitive_desc plan_forward(const ConvShape& s, const OperationRequest& r) {
  dnnl::post_ops after;
  if (r.has_residual()) after.append_binary(dnnl::algorithm::binary_add, s.output);
  return r.context.plan_with<Forward>(after, dnnl::prop_kind::forward_training, kAlgorithm,
                                      s.source, s.weights, s.bias, s.output, s.strides, s.padding,
                                      s.padding);
}

/// On maps of so many pixels and fewer products of matrices are faster.
constexpr std::size_t kFewPixels = 16;

/// The weight gradient as one product of matrices for each place of the kernel,
/// (out x pixels) x (pixels x in), over the pixels where that place meets no
/// padding. On small maps much of a kernel meets padding, and oneDNN's
/// convolution is slow: hundreds of times on a pixel or two, where it has only
/// its reference loop. The operands are copied, the products go to the arena.
class PlaceProducts {
 public:
  PlaceProducts(const OperationRequest& r, const ConvNode& conv) : r_(r), conv_(conv) {
    for (int y = 0; y < conv.kernel; ++y)
      for (int x = 0; x < conv.kernel; ++x) plan(y, x);
  }

  void bind(const OperationMemory& m) {
    const Context& context = r_.context;
    outputs_.memory = m.output_gradients.front();
    inputs_.memory = m.inputs.front();
    outputs_.copy = context.scratch.data();
    inputs_.copy = outputs_.copy + outputs_.room;
    for (Place& place : places_)
      if (place.plan)
        place.product = context.call<dnnl::matmul>(
            place.plan,
            {{DNNL_ARG_SRC, context.at(place.plan.src_desc(), outputs_.copy)},
             {DNNL_ARG_WEIGHTS, context.at(place.plan.weights_desc(), inputs_.copy)},
             {DNNL_ARG_DST, context.at(place.plan.dst_desc(), gradient(place, 0))}},
            outputs_.room + inputs_.room);
  }

  void run() {
    for (Place& place : places_) {
      if (place.plan) {
        parallel_for(std::size_t(r_.batch), [&](std::size_t image) { copy(place, image); });
        place.product.run(r_.context.stream);
      } else {
        for (int out = 0; out < conv_.filters; ++out)
          std::fill_n(gradient(place, out), inputs_.shape.channels, 0.0F);
      }
    }
    if (conv_.bias != kNone) with_element_type(outputs_.view, [&]<typename T>() { sum_bias<T>(); });
  }

 private:
  /// One place of the kernel; no plan where it meets nothing but padding.
  struct Place {
    int y, x;
    Range rows, columns;  ///< of the outputs for which it meets no padding
    dnnl::matmul::primitive_desc plan{};
    PrimitiveCall product{};
  };

  /// An operand: where it lies, and where its pixels are copied, channels together.
  struct Operand {
    ActivationView view;
    Shape shape;
    std::size_t room;  ///< bytes of the copy
    const std::byte* memory = nullptr;
    std::byte* copy = nullptr;

    void copy_pixel(std::size_t image, std::size_t pixel, std::size_t row) const {
      const std::size_t size = view.bf16 ? sizeof(kernels::Bfloat16) : sizeof(float);
      const auto channels = std::size_t(shape.channels);
      for (std::size_t c = 0; c < channels; c += view.block)
        std::memcpy(copy + (row * channels + c) * size,
                    memory + view.offset(image, c, pixel) * size,
                    std::min(view.block, channels - c) * size);
    }
  };

  Operand operand(const ActivationView& view, const Shape& shape) const {
    const std::size_t rows = std::size_t(r_.batch) * r_.output_view().pixels;
    return {view, shape, aligned_bytes(rows * std::size_t(shape.channels) * sizeof(float))};
  }

  /// Along a side, the outputs for which a place of the kernel meets no padding.
  Range met(int place, int inputs, int outputs) const {
    const int before = conv_.padding - place;
    int first = 0;
    int end = 0;
    if (before > 0) first = (before + conv_.stride - 1) / conv_.stride;
    if (inputs + before > 0) end = (inputs - 1 + before) / conv_.stride + 1;
    return {std::size_t(first), std::size_t(std::max(first, std::min(outputs, end)))};
  }

  void plan(int y, int x) {
    const auto& [from, to] = std::pair(inputs_.shape, outputs_.shape);
    Place place{y, x, met(y, from.height, to.height), met(x, from.width, to.width)};
    const auto pixels = memory::dim(place.rows.size() * place.columns.size()) * r_.batch;
    if (pixels > 0) {
      const auto type = type_of(inputs_.view.bf16);
      const memory::dim in = from.channels, out = to.channels;
      place.plan = r_.context.plan<dnnl::matmul>(
          memory::desc({out, pixels}, type, memory::format_tag::ba),
          memory::desc({pixels, in}, type, memory::format_tag::ab),
          memory::desc({out, in}, memory::data_type::f32, {conv_.kernel * conv_.kernel * in, 1}));
      r_.context.request_scratch(place.plan, outputs_.room + inputs_.room);
    }
    places_.push_back(std::move(place));
  }

  float* gradient(const Place& place, int out) const {
    const int row = (out * conv_.kernel + place.y) * conv_.kernel + place.x;
    return r_.gradient(conv_.weight) + std::ptrdiff_t(row) * inputs_.shape.channels;
  }

  void copy(const Place& place, std::size_t image) const {
    std::size_t row = image * place.rows.size() * place.columns.size();
    for (std::size_t y = place.rows.begin; y < place.rows.end; ++y) {
      for (std::size_t x = place.columns.begin; x < place.columns.end; ++x, ++row) {
        const int iy = int(y) * conv_.stride - conv_.padding + place.y;
        const int ix = int(x) * conv_.stride - conv_.padding + place.x;
        outputs_.copy_pixel(image, y * std::size_t(outputs_.shape.width) + x, row);
        inputs_.copy_pixel(
            image, std::size_t(iy) * std::size_t(inputs_.shape.width) + std::size_t(ix), row);
      }
    }
  }

  template <typename T>
  void sum_bias() const {
    const ActivationView& view = outputs_.view;
    parallel_for(std::size_t(conv_.filters), [&](std::size_t channel) {
      float sum = 0;
      for (std::size_t image = 0; image < std::size_t(r_.batch); ++image)
        for (std::size_t pixel = 0; pixel < view.pixels; ++pixel)
          sum +=
              kernels::to_float(elements<T>(outputs_.memory)[view.offset(image, channel, pixel)]);
      r_.gradient(conv_.bias)[channel] = sum;
    });
  }

  OperationRequest r_;
  ConvNode conv_;
  Operand outputs_ = operand(r_.output_view(), r_.self().output);
  Operand inputs_ = operand(r_.input_view(), r_.graph.shape(r_.input()));
  std::vector<Place> places_;
};

/// Convolution in its three directions; a second input is added to its output. The weight gradient
/// comes in the kernel's own layout and is unpacked into the arena; bias and bias gradient lie in
/// the arenas directly.
class Conv final : public PrimitiveOperation {
 public:
  Conv(const OperationRequest& r, const ConvNode& conv)
      : PrimitiveOperation(r),
        conv_(conv),
        shape_(r, conv),
        forward_desc_(plan_forward(shape_, r)) {
    r_.context.accept(forward_desc_, r_.self().name, "forward");
    weights_ = r_.context.packed.request(conv.weight, forward_desc_.weights_desc());
    if (r.mode == Mode::train) plan_backward(r.input() != r.graph.input());
  }

  OperationNeeds needs() const override {
    OperationNeeds needs{.keeps_input = true};
    if (r_.has_residual()) needs.passes_gradient = 0b10U;
    return needs;
  }

  void bind(const OperationMemory& m) override {
    bind_forward(m);
    if (m.output_gradients.empty()) return;
    if (data_desc_ && m.input_gradients.front() != nullptr) bind_backward_data(m);
    if (by_place_)
      by_place_->bind(m);
    else
      bind_backward_weights(m);
  }

  void backward() override {
    PrimitiveOperation::backward();
    if (by_place_) by_place_->run();
  }

  bool run(Product product) override {
    if (product == Product::data && !data_desc_) return false;
    if (product == Product::weights && by_place_) {
      by_place_->run();
      return true;
    }
    call_of(product).run(r_.context.stream);
    return true;
  }

 private:
  PrimitiveCall& call_of(Product product) {
    switch (product) {
      case Product::forward:
        return forward_.front();
      case Product::data:
        return backward_.front();
      case Product::weights:
        break;
    }
    return backward_.at(weights_product_);
  }

  void plan_backward(bool wants_data) {
    weights_desc_ = r_.context.plan<BackwardWeights>(
        kAlgorithm, shape_.source, shape_.weights_gradient, shape_.bias, shape_.output,
        shape_.strides, shape_.padding, shape_.padding, forward_desc_);
    if (is_reference(weights_desc_) || r_.output_view().pixels <= kFewPixels)
      by_place_.emplace(r_, conv_);
    else
      r_.context.accept(weights_desc_, r_.self().name, "weight gradient", gradient_room());
    if (!wants_data) return;
    data_desc_ = r_.context.plan<BackwardData>(kAlgorithm, shape_.source, shape_.weights,
                                               shape_.output, shape_.strides, shape_.padding,
                                               shape_.padding, forward_desc_);
    r_.context.accept(data_desc_, r_.self().name, "data gradient");
    data_weights_ = r_.context.packed.request(conv_.weight, data_desc_.weights_desc());
  }

  /// Bytes at the start of the scratch area that hold the weight gradient before it is unpacked.
  std::size_t gradient_room() const {
    return aligned_bytes(weights_desc_.diff_weights_desc().get_size());
  }

  void bind_forward(const OperationMemory& m) {
    std::unordered_map<int, memory> arguments = {
        {DNNL_ARG_SRC, r_.context.at(shape_.source, m.inputs.front())},
        {DNNL_ARG_WEIGHTS, r_.context.packed.memory(weights_)},
        {DNNL_ARG_DST, r_.context.at(shape_.output, m.output)}};
    if (conv_.bias != kNone)
      arguments.emplace(DNNL_ARG_BIAS, r_.context.at(shape_.bias, r_.value(conv_.bias)));
    if (r_.has_residual())
      arguments.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
                        r_.context.at(shape_.output, m.inputs[1]));
    forward_ = {r_.context.call<Forward>(forward_desc_, std::move(arguments))};
  }

  void bind_backward_weights(const OperationMemory& m) {
    const Context& context = r_.context;
    const auto arena =
        context.at(conv_weight_desc(r_.graph.parameter(conv_.weight)), r_.gradient(conv_.weight));
    const auto packed = context.at(weights_desc_.diff_weights_desc(), context.scratch.data());
    std::unordered_map<int, memory> arguments = {
        {DNNL_ARG_SRC, context.at(shape_.source, m.inputs.front())},
        {DNNL_ARG_DIFF_DST, context.at(shape_.output, m.output_gradients.front())},
        {DNNL_ARG_DIFF_WEIGHTS, packed}};
    if (conv_.bias != kNone)
      arguments.emplace(DNNL_ARG_DIFF_BIAS, context.at(shape_.bias, r_.gradient(conv_.bias)));
    weights_product_ = backward_.size();
    backward_.push_back(
        context.call<BackwardWeights>(weights_desc_, std::move(arguments), gradient_room()));
    backward_.push_back(reorder_call(packed, arena));
  }

  void bind_backward_data(const OperationMemory& m) {
    backward_.push_back(r_.context.call<BackwardData>(
        data_desc_,
        {{DNNL_ARG_DIFF_DST, r_.context.at(shape_.output, m.output_gradients.front())},
         {DNNL_ARG_WEIGHTS, r_.context.packed.memory(data_weights_)},
         {DNNL_ARG_DIFF_SRC, r_.context.at(shape_.source, m.input_gradients.front())}}));
  }

  ConvNode conv_;
  ConvShape shape_;
  Forward::primitive_desc forward_desc_;
  BackwardWeights::primitive_desc weights_desc_;
  BackwardData::primitive_desc data_desc_;
  std::optional<PlaceProducts> by_place_;  ///< instead of `weights_desc_`
  std::size_t weights_product_ = 0;        ///< its place in `backward_`
  PackedWeights::Slot weights_ = 0;
  PackedWeights::Slot data_weights_ = 0;
};

}  // namespace

std::unique_ptr<Operation> make(const OperationRequest& request, const ConvNode& conv) {
  if (takes_winograd(request, conv)) return make_winograd(request, conv);
  return std::make_unique<Conv>(request, conv);
}

}  // namespace rueda::cpu
