#include <algorithm>
#include <utility>
#include <variant>

#include "backend/launches.hpp"
#include "model/gpu_fusion.hpp"

namespace rueda {
namespace {

using enum Tensor;

/// Lists launches by the kind of a node.
class Lister {
 public:
  Lister(const NodeRequest& request, Precision precision)
      : r_(request), precision_(precision), node_(request.self()) {}

  std::vector<Launch> take() && { return std::move(launches_); }

  void forward(const InputNode&, Epilogue) {}
  void forward(const ConvNode& conv, Epilogue epilogue) {
    if (row_windows()) list(LaunchKind::unroll_rows, {input}, {windows});
    recompute(conv, epilogue);
  }
  void forward(const BatchNormNode& norm, Epilogue epilogue) {
    const bool summed = epilogue == Epilogue::sums && norm_to_sum(r_.graph, r_.input()) == r_.node;
    if (r_.mode == Mode::train && summed)
      list(LaunchKind::norm_finish_sums, {statistics}, {statistics});
    else if (r_.mode == Mode::train)
      list(LaunchKind::norm_statistics, {input}, {statistics});
    recompute(norm, epilogue);
  }
  void forward(const AddNode&, Epilogue) {
    list(LaunchKind::add_activations, {input, residual}, {output});
  }
  void forward(const MaxPoolNode&, Epilogue) {
    std::vector<Tensor> writes = {output};
    if (r_.mode == Mode::train) writes.push_back(winners);
    list(LaunchKind::max_pool, {input}, writes);
  }
  void forward(const PadShortcutNode&, Epilogue) {
    list(LaunchKind::pad_shortcut, {input}, {output});
  }
  void forward(const GlobalAveragePoolNode&, Epilogue) {
    list(LaunchKind::average_pool, {input}, {output});
  }
  void forward(const DenseNode&, Epilogue) {
    list(LaunchKind::dense_forward, {input, weights, bias}, {output});
  }

  template <typename Kind>
  void recompute(const Kind& kind, Epilogue epilogue) {
    forward(kind, epilogue);
  }
  void recompute(const ConvNode& conv, Epilogue epilogue) {
    std::vector<Tensor> added;
    if (conv.bias != kNone) added.push_back(bias);
    if (adds()) added.push_back(residual);
    std::vector<Tensor> reads = {multiplied(), weights};
    std::vector<Tensor> writes = {output};
    const bool fused = epilogue != Epilogue::none;
    if (fused) reads.insert(reads.end(), added.begin(), added.end());
    if (epilogue == Epilogue::sums && norm_to_sum(r_.graph, r_.node))
      writes.insert(writes.end(), {sums, square_sums});
    list_product(LaunchKind::conv_forward, reads, writes);
    if (fused || added.empty()) return;
    added.push_back(output);
    list(LaunchKind::add_bias, added, {output});
  }
  void recompute(const BatchNormNode&, Epilogue) {
    std::vector<Tensor> reads = {input, gamma, beta, statistics};
    if (adds()) reads.push_back(residual);
    list(LaunchKind::norm_apply, reads, {output});
  }

  void backward(const InputNode&, const GradientUse&) {}
  void backward(const ConvNode& conv, const GradientUse& use) {
    if (use.wants_input)
      list_product(LaunchKind::conv_data, {output_gradient, weights}, {input_gradient});
    list_product(LaunchKind::conv_weights, {multiplied(), output_gradient}, {weight_gradient});
    if (row_windows()) list(LaunchKind::drop_channels, {weight_gradient}, {arena_gradient});
    if (conv.bias != summed_bias(r_.graph, r_.node))
      list(LaunchKind::column_sums, {output_gradient}, {bias_gradient});
  }
  void backward(const BatchNormNode& norm, const GradientUse& use) {
    std::vector<Tensor> entering = {output_gradient};
    if (use.summands > 1) entering.push_back(other_gradient);
    std::vector<Tensor> reads = {input, gamma, beta, statistics};
    std::vector<Tensor> writes = {gamma_gradient, beta_gradient};
    auto again = reads;  // by the second pass, with what the first has found
    again.insert(again.end(), writes.begin(), writes.end());
    reads.insert(reads.end(), entering.begin(), entering.end());
    if (adds()) {
      if (norm.relu) reads.push_back(output);
      writes.push_back(residual_gradient);
      entering = {residual_gradient};
    }
    list(LaunchKind::norm_gradient_sums, reads, writes);
    if (!use.wants_input) return;
    again.insert(again.end(), entering.begin(), entering.end());
    if (use.adds) again.push_back(addend);
    list(LaunchKind::norm_input_gradient, again, written_with_input_gradient());
  }
  void backward(const AddNode& add, const GradientUse& use) {
    if (!add.relu) return;  // the gradient of a sum is that of its summands
    std::vector<Tensor> reads = {output, output_gradient};
    if (use.summands > 1) reads.push_back(other_gradient);
    list(LaunchKind::mask_gradient, reads, {input_gradient});
  }
  void backward(const MaxPoolNode&, const GradientUse&) {
    list(LaunchKind::max_pool_backward, {output_gradient, winners}, {input_gradient});
  }
  void backward(const PadShortcutNode&, const GradientUse& use) {
    if (!use.wants_input) return;
    list(LaunchKind::pad_shortcut_backward, {output_gradient}, {input_gradient});
  }
  void backward(const GlobalAveragePoolNode&, const GradientUse& use) {
    if (!use.wants_input) return;
    list(LaunchKind::average_pool_backward, {output_gradient}, {input_gradient});
  }
  void backward(const DenseNode&, const GradientUse& use) {
    list_product(LaunchKind::dense_weights, {input, output_gradient}, {weight_gradient});
    list(LaunchKind::column_sums, {output_gradient}, {bias_gradient});
    if (use.wants_input)
      list_product(LaunchKind::dense_data, {output_gradient, weights}, {input_gradient});
  }

 private:
  bool adds() const { return node_.inputs.size() == 2; }
  int channels() const { return r_.graph.shape(r_.input()).channels; }
  std::optional<kernels::RowWindows> row_windows() const {
    return windows_of(r_.graph, r_.node, precision_);
  }
  /// What a convolution multiplies by its weights.
  Tensor multiplied() const { return row_windows() ? windows : input; }
  /// A window, with the zeros after its values, is so many times as long as they are.
  double padding() const {
    const auto w = row_windows();
    return w ? double(w->stored) / w->values : 1;
  }

  void list(LaunchKind kind, const std::vector<Tensor>& reads, const std::vector<Tensor>& writes) {
    launches_.push_back({kind, sized(kind, reads), sized(kind, writes)});
  }
  void list_product(LaunchKind kind, const std::vector<Tensor>& reads,
                    const std::vector<Tensor>& writes) {
    list(kind, reads, writes);
    launches_.back().flops = r_.batch * double(forward_flops(r_.graph, r_.node)) * padding();
    const auto* conv = std::get_if<ConvNode>(&node_.kind);
    if (conv == nullptr) return;
    const double window = conv->kernel * conv->kernel;
    const bool swapped = kind == LaunchKind::conv_data;
    const double rows = swapped ? channels() : conv->filters;
    const double columns = (swapped ? conv->filters : channels() * padding()) * window;
    launches_.back().side = std::min(rows, columns);
  }

  /// The batch norm's input may be a convolution's output, with or without another's in it.
  std::vector<Tensor> written_with_input_gradient() const {
    std::vector<Tensor> writes = {input_gradient};
    const NodeId conv = r_.input();
    if (summed_bias(r_.graph, conv) != kNone) writes.push_back(summed_bias_gradient);
    const NodeId other = r_.graph.node(conv).inputs.back();
    if (summed_bias(r_.graph, other) != kNone) writes.push_back(passed_bias_gradient);
    return writes;
  }

  std::vector<TensorBytes> sized(LaunchKind kind, const std::vector<Tensor>& tensors) const {
    std::vector<TensorBytes> result;
    for (const Tensor tensor : tensors) result.push_back({tensor, bytes_of(kind, tensor)});
    return result;
  }
  double bytes_of(LaunchKind kind, Tensor tensor) const {
    const auto outputs = double(node_.output.elements()) * r_.batch;
    const auto element = double(element_bytes(node_, precision_));
    const auto whole_input = double(r_.graph.shape(r_.input()).elements()) * r_.batch *
                             double(element_bytes(r_.graph.node(r_.input()), precision_));
    switch (tensor) {
      case input:
        if (kind == LaunchKind::unroll_rows) return whole_input;
        return whole_input * touched_elements(r_.graph, node_) /
               double(r_.graph.shape(r_.input()).elements());
      case windows:
        return double(window_bytes(r_, precision_));
      case input_gradient:
      case addend:
        return whole_input;
      case residual:
      case output:
      case residual_gradient:
      case output_gradient:
      case other_gradient:
        return outputs * element * touched_share(kind, tensor);
      case winners:
        return outputs;
      case weights:
      case weight_gradient:
        return weight_count() * padding() * element * touched_share(kind, tensor);
      case arena_gradient:
        return weight_count() * sizeof(float);
      case statistics:
        return 2 * double(node_.output.channels) * sizeof(float);
      default:  // of each channel
        return double(node_.output.channels) * sizeof(float);
    }
  }
  /// Gradients of the zeros after a window are not read.
  double touched_share(LaunchKind kind, Tensor tensor) const {
    if (kind == LaunchKind::pad_shortcut_backward && tensor == output_gradient)
      return double(channels()) / node_.output.channels;
    if (kind == LaunchKind::drop_channels) return 1 / padding();
    return 1;
  }
  /// A weight has more values than its bias.
  double weight_count() const {
    double most = 0;
    for_each_parameter(node_.kind, [&](ParameterId id) {
      most = std::max(most, double(r_.graph.parameter(id).count));
    });
    return most;
  }

  const NodeRequest& r_;
  Precision precision_;
  const Node& node_;
  std::vector<Launch> launches_;
};

}  // namespace

std::vector<Launch> NodeLaunches::forward(Epilogue epilogue) const {
  Lister lister(r_, precision_);
  std::visit([&](const auto& kind) { lister.forward(kind, epilogue); }, r_.self().kind);
  return std::move(lister).take();
}

std::vector<Launch> NodeLaunches::recompute(Epilogue epilogue) const {
  Lister lister(r_, precision_);
  std::visit([&](const auto& kind) { lister.recompute(kind, epilogue); }, r_.self().kind);
  return std::move(lister).take();
}

std::vector<Launch> NodeLaunches::backward(const GradientUse& use) const {
  Lister lister(r_, precision_);
  std::visit([&](const auto& kind) { lister.backward(kind, use); }, r_.self().kind);
  return std::move(lister).take();
}

}  // namespace rueda
