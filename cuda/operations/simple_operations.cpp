#include <functional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "operations.hpp"
#include "rueda/core/error.hpp"

// Operations that are one kernel, or one product, each way.

namespace rueda::cuda {
namespace {

/// A matrix as cuBLAS wants it: a row-major one is its own transpose with columns for rows.
struct Matrix {
  const float* values;
  cublasOperation_t operation;
  int leading;
};

/// to (n, m) row-major, by sums of length k.
void multiply(const Context& context, const Matrix& a, const Matrix& b, float* to, int m, int n,
              int k) {
  const float one = 1.0F;
  const float zero = 0.0F;
  check(cublasSgemm(context.cublas.get(), a.operation, b.operation, m, n, k, &one, a.values,
                    a.leading, b.values, b.leading, &zero, to, m),
        "cublasSgemm");
}

/// Where the bias gradient of `conv` goes; null if it is none, or no batch norm's work.
float* bias_gradient(const OperationRequest& r, NodeId conv) {
  const auto* node = std::get_if<ConvNode>(&r.graph.node(conv).kind);
  if (node == nullptr || node->bias == kNone || !norm_sums_bias(r.graph, conv)) return nullptr;
  return r.context.gradient(r.graph, node->bias);
}

NormWork norm_work(const OperationRequest& r, const BatchNormNode& norm, const OperationMemory& m) {
  const ParameterMemory& p = r.context.parameters;
  const auto statistics = r.mode == Mode::train ? p.batch_statistics : p.running_statistics;
  return {.element = r.element(),
          .rows = r.rows_of(r.node),
          .channels = r.self().output.channels,
          .x = m.inputs[0],
          .gamma = r.context.value(r.graph, norm.gamma),
          .beta = r.context.value(r.graph, norm.beta),
          .epsilon = norm.epsilon,
          .statistics = statistics.data() + norm.statistics_offset,
          .relu = norm.relu,
          .residual = r.has_residual() ? m.inputs[1] : nullptr,
          .y = m.output,
          .scratch = r.context.sum_scratch()};
}

}  // namespace

void throw_cublas_error(cublasStatus_t status, const char* call, std::source_location place) {
  throw RunError(fmt::format("{} failed: {} [{}:{}]", call, cublasGetStatusString(status),
                             place.file_name(), place.line()));
}

bool is_behind_pooling(const Node& node) {
  return std::holds_alternative<GlobalAveragePoolNode>(node.kind) ||
         std::holds_alternative<DenseNode>(node.kind);
}

/// Another reader's share comes as the addend, that of two others would be
/// summed later. A convolution that adds another's output passes its gradient on.
bool norm_sums_bias(const Graph& graph, NodeId conv) {
  const auto readers = graph.readers(conv);
  if (readers.empty() || readers.size() > 2) return false;
  const Node& first = graph.node(readers.front());
  const bool reads_first = first.inputs.front() == conv;
  if (std::holds_alternative<ConvNode>(first.kind))
    return readers.size() == 1 && !reads_first && norm_sums_bias(graph, readers.front());
  const bool reads_once = readers.size() == 1 || readers[0] != readers[1];
  return std::holds_alternative<BatchNormNode>(first.kind) && reads_once && reads_first;
}

Element element_of(const Node& node, const Context& context) {
  return is_behind_pooling(node) ? Element::fp32 : context.element();
}

int stored_channels(const Graph& graph, NodeId node, const Context& context) {
  const int channels = graph.shape(node).channels;
  if (node != graph.input()) return channels;
  const int unit = image_channels(context.element());
  return (channels + unit - 1) / unit * unit;
}

OperationPtr make_operation(const OperationRequest& r, const AddNode& add) {
  OperationNeeds needs{.passes_gradient = 0b11};
  if (add.relu)
    needs = {.keeps_output = true, .sums_gradients = true, .shares_input_gradient = true};
  const auto forward = [=](const OperationMemory& m) {
    check(add_activations(r.element(), m.output, m.inputs[0], m.inputs[1], r.outputs(), add.relu,
                          r.stream()),
          "add_activations");
  };
  const auto backward = [=](const OperationMemory& m) {
    if (!add.relu) return;
    const auto& dy = m.output_gradients;
    check(mask_gradient(r.element(), m.input_gradients[0], m.output, dy[0],
                        dy.size() > 1 ? dy[1] : nullptr, r.outputs(), r.stream()),
          "mask_gradient");
  };
  return std::make_unique<SimpleOperation>(needs, forward, backward);
}

/// Batch normalisation with ReLU, and, where fused, the residual addition
/// before it. Means and variances go to the statistics arena; inference reads
/// the running ones.
OperationPtr make_operation(const OperationRequest& r, const BatchNormNode& norm) {
  const bool trains = r.mode == Mode::train;
  const auto apply = [=](const OperationMemory& m) {
    check(norm_apply(norm_work(r, norm, m), r.stream()), "norm_apply");
  };
  const auto forward = [=](const OperationMemory& m) {
    const bool summed = trains && r.context.summed.contains({r.batch, r.node});
    const auto make_statistics = summed ? norm_finish_sums : norm_statistics;
    if (trains) check(make_statistics(norm_work(r, norm, m), r.stream()), "norm_statistics");
    apply(m);
  };
  // Of the convolution that it reads, and of the one whose output that adds.
  const std::array convs = {r.input(), r.graph.node(r.input()).inputs.back()};
  const auto backward = [=](const OperationMemory& m) {
    const auto& dy = m.output_gradients;
    const NormGradient gradient{
        .dy = dy[0],
        .dy_other = dy.size() > 1 ? dy[1] : nullptr,
        .addend = m.gradient_addend,
        .dx = m.input_gradients[0],
        .residual_gradient = r.has_residual() ? m.input_gradients[1] : nullptr,
        .dgamma = r.context.gradient(r.graph, norm.gamma),
        .dbeta = r.context.gradient(r.graph, norm.beta),
        .input_sums = {bias_gradient(r, convs[0]), bias_gradient(r, convs[1])}};
    check(norm_backward(norm_work(r, norm, m), gradient, r.stream()), "norm_backward");
  };
  const OperationNeeds needs{.keeps_input = true,
                             .keeps_output = r.has_residual() && norm.relu,
                             .sums_gradients = true,
                             .adds_to_gradient = true};
  // The statistics are still there when the output is made again.
  return std::make_unique<SimpleOperation>(needs, forward, backward, apply);
}

OperationPtr make_operation(const OperationRequest& r, const MaxPoolNode& pool) {
  const PoolWork work{.element = r.element(),
                      .in = r.shape_of(r.input()),
                      .out = r.shape_of(r.node),
                      .kernel = pool.kernel,
                      .stride = pool.stride,
                      .padding = pool.padding,
                      .zeros = pool.filled_with == PoolPadding::zeros};
  const auto winners = [](const OperationMemory& m) {
    return reinterpret_cast<std::uint8_t*>(m.workspace);
  };
  const auto forward = [=](const OperationMemory& m) {
    check(max_pool(work, m.output, m.inputs[0], winners(m), r.stream()), "max_pool");
  };
  const auto backward = [=](const OperationMemory& m) {
    check(max_pool_backward(work, m.input_gradients[0], m.output_gradients[0], winners(m),
                            r.stream()),
          "max_pool_backward");
  };
  const OperationNeeds needs{.workspace_bytes = r.mode == Mode::train ? r.outputs() : 0};
  return std::make_unique<SimpleOperation>(needs, forward, backward);
}

OperationPtr make_operation(const OperationRequest& r, const PadShortcutNode& pad) {
  const ImageShape in = r.shape_of(r.input());
  const ImageShape out = r.shape_of(r.node);
  const auto forward = [=](const OperationMemory& m) {
    check(pad_shortcut(r.element(), m.output, m.inputs[0], in, out, pad.stride, r.stream()),
          "pad_shortcut");
  };
  const auto backward = [=](const OperationMemory& m) {
    if (m.input_gradients[0] == nullptr) return;
    check(pad_shortcut_backward(r.element(), m.input_gradients[0], m.output_gradients[0], in, out,
                                pad.stride, r.stream()),
          "pad_shortcut_backward");
  };
  return std::make_unique<SimpleOperation>(OperationNeeds{}, forward, backward);
}

OperationPtr make_operation(const OperationRequest& r, const GlobalAveragePoolNode&) {
  const ImageShape in = r.shape_of(r.input());
  const Element element = element_of(r.graph.node(r.input()), r.context);
  const auto forward = [=](const OperationMemory& m) {
    auto* y = reinterpret_cast<float*>(m.output);
    check(global_average_pool(element, y, m.inputs[0], in, r.stream()), "global_average_pool");
  };
  const auto backward = [=](const OperationMemory& m) {
    if (m.input_gradients[0] == nullptr) return;
    const auto* dy = reinterpret_cast<const float*>(m.output_gradients[0]);
    check(global_average_pool_backward(element, m.input_gradients[0], dy, in, r.stream()),
          "global_average_pool_backward");
  };
  return std::make_unique<SimpleOperation>(OperationNeeds{}, forward, backward);
}

/// Fully connected layer, all fp32: y = x w^T + b with x (rows, inputs) and w (units, inputs).
OperationPtr make_operation(const OperationRequest& r, const DenseNode& dense) {
  const int inputs = int(r.graph.shape(r.input()).elements());
  const int units = dense.units;
  const auto rows = std::size_t(r.batch);
  const auto forward = [=](const OperationMemory& m) {
    const float* weights = r.context.value(r.graph, dense.weight);
    const auto* x = reinterpret_cast<const float*>(m.inputs[0]);
    auto* y = reinterpret_cast<float*>(m.output);
    multiply(r.context, {weights, CUBLAS_OP_T, inputs}, {x, CUBLAS_OP_N, inputs}, y, units, r.batch,
             inputs);
    if (dense.bias == kNone) return;
    check(add_bias(Element::fp32, y, y, r.context.value(r.graph, dense.bias), nullptr, rows, units,
                   r.stream()),
          "add_bias");
  };
  const auto backward = [=](const OperationMemory& m) {
    const float* weights = r.context.value(r.graph, dense.weight);
    const auto* x = reinterpret_cast<const float*>(m.inputs[0]);
    const auto* dy = reinterpret_cast<const float*>(m.output_gradients[0]);
    multiply(r.context, {x, CUBLAS_OP_N, inputs}, {dy, CUBLAS_OP_T, units},
             r.context.gradient(r.graph, dense.weight), inputs, units, r.batch);
    if (dense.bias != kNone) {
      check(column_sums(Element::fp32, r.context.gradient(r.graph, dense.bias), dy, rows, units,
                        r.context.sum_scratch(), r.stream()),
            "column_sums");
    }
    auto* dx = reinterpret_cast<float*>(m.input_gradients[0]);
    if (dx == nullptr) return;
    multiply(r.context, {weights, CUBLAS_OP_N, inputs}, {dy, CUBLAS_OP_N, units}, dx, inputs,
             r.batch, units);
  };
  return std::make_unique<SimpleOperation>(OperationNeeds{.keeps_input = true}, forward, backward);
}

}  // namespace rueda::cuda
