#include <variant>

#include <fmt/format.h>

#include "base/error.hpp"
#include "cuda/operations/operations.hpp"

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

float* floats(std::byte* numbers) { return reinterpret_cast<float*>(numbers); }

/// From the first input to the output, of an element type that the input has.
PoolWork pool_work(const OperationRequest& r) {
  return {.element = element_of(r.graph.node(r.input()), r.context),
          .in = r.shape_of(r.input()),
          .out = r.shape_of(r.node)};
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

void check(cublasStatus_t status, const char* call, std::source_location place) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw RunError(fmt::format("{} failed: {} [{}:{}]", call, cublasGetStatusString(status),
                             place.file_name(), place.line()));
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
    add_activations(r.element(), m.output, m.inputs[0], m.inputs[1], r.outputs(), add.relu,
                    r.stream());
  };
  const auto backward = [=](const OperationMemory& m) {
    if (!add.relu) return;
    const auto& dy = m.output_gradients;
    mask_gradient(r.element(), m.input_gradients[0], m.output, dy[0],
                  dy.size() > 1 ? dy[1] : nullptr, r.outputs(), r.stream());
  };
  return std::make_unique<SimpleOperation>(needs, forward, backward);
}

/// Batch normalisation with ReLU, and, where fused, the residual addition
/// before it. Means and variances go to the statistics arena; inference reads
/// the running ones.
OperationPtr make_operation(const OperationRequest& r, const BatchNormNode& norm) {
  const bool trains = r.mode == Mode::train;
  const auto apply = [=](const OperationMemory& m) {
    norm_apply(norm_work(r, norm, m), r.stream());
  };
  const auto forward = [=](const OperationMemory& m) {
    const bool summed = trains && r.context.summed.contains({r.batch, r.node});
    const auto make_statistics = summed ? norm_finish_sums : norm_statistics;
    if (trains) make_statistics(norm_work(r, norm, m), r.stream());
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
    norm_backward(norm_work(r, norm, m), gradient, r.stream());
  };
  const OperationNeeds needs{.keeps_input = true,
                             .keeps_output = r.has_residual() && norm.relu,
                             .sums_gradients = true,
                             .adds_to_gradient = true};
  // The statistics are still there when the output is made again.
  return std::make_unique<SimpleOperation>(needs, forward, backward, apply);
}

OperationPtr make_operation(const OperationRequest& r, const MaxPoolNode& pool) {
  PoolWork work = pool_work(r);
  work.kernel = pool.kernel;
  work.stride = pool.stride;
  work.padding = pool.padding;
  work.zeros = pool.filled_with == PoolPadding::zeros;
  const auto winners = [](const OperationMemory& m) {
    return reinterpret_cast<std::uint8_t*>(m.workspace);
  };
  const auto forward = [=](const OperationMemory& m) {
    max_pool(work, m.output, m.inputs[0], winners(m), r.stream());
  };
  const auto backward = [=](const OperationMemory& m) {
    max_pool_backward(work, m.input_gradients[0], m.output_gradients[0], winners(m), r.stream());
  };
  const OperationNeeds needs{.workspace_bytes = r.mode == Mode::train ? r.outputs() : 0};
  return std::make_unique<SimpleOperation>(needs, forward, backward);
}

OperationPtr make_operation(const OperationRequest& r, const PadShortcutNode& pad) {
  PoolWork work = pool_work(r);
  work.stride = pad.stride;
  const auto forward = [=](const OperationMemory& m) {
    pad_shortcut(work, m.output, m.inputs[0], r.stream());
  };
  const auto backward = [=](const OperationMemory& m) {
    if (m.input_gradients[0] == nullptr) return;
    pad_shortcut_backward(work, m.input_gradients[0], m.output_gradients[0], r.stream());
  };
  return std::make_unique<SimpleOperation>(OperationNeeds{}, forward, backward);
}

OperationPtr make_operation(const OperationRequest& r, const GlobalAveragePoolNode&) {
  const PoolWork work = pool_work(r);
  const auto forward = [=](const OperationMemory& m) {
    global_average_pool(work, floats(m.output), m.inputs[0], r.stream());
  };
  const auto backward = [=](const OperationMemory& m) {
    if (m.input_gradients[0] == nullptr) return;
    global_average_pool_backward(work, m.input_gradients[0], floats(m.output_gradients[0]),
                                 r.stream());
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
    float* y = floats(m.output);
    multiply(r.context, {weights, CUBLAS_OP_T, inputs}, {floats(m.inputs[0]), CUBLAS_OP_N, inputs},
             y, units, r.batch, inputs);
    add_bias(Element::fp32, y, y, r.context.value(r.graph, dense.bias), nullptr, rows, units,
             r.stream());
  };
  const auto backward = [=](const OperationMemory& m) {
    const auto* dy = floats(m.output_gradients[0]);
    multiply(r.context, {floats(m.inputs[0]), CUBLAS_OP_N, inputs}, {dy, CUBLAS_OP_T, units},
             r.context.gradient(r.graph, dense.weight), inputs, units, r.batch);
    column_sums(Element::fp32, r.context.gradient(r.graph, dense.bias), dy, rows, units,
                r.context.sum_scratch(), r.stream());
    auto* dx = floats(m.input_gradients[0]);
    if (dx == nullptr) return;
    const float* weights = r.context.value(r.graph, dense.weight);
    multiply(r.context, {weights, CUBLAS_OP_N, inputs}, {dy, CUBLAS_OP_N, units}, dx, inputs,
             r.batch, units);
  };
  return std::make_unique<SimpleOperation>(OperationNeeds{.keeps_input = true}, forward, backward);
}

}  // namespace rueda::cuda
