#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/bfloat16.hpp"
#include "kernels/row_windows.hpp"
#include "model/flops.hpp"
#include "rueda/backend/operation.hpp"
#include "rueda/backend/precision.hpp"
#include "rueda/model/graph.hpp"

// What a GPU does in a step, as data: the CUDA backend launches by it, and `rueda summary
// --roofline` counts by it. No device is needed for either.

namespace rueda {

/// What is launched at once: a kernel, a product of cuDNN's or cuBLAS', a clearing, a copy.
enum class LaunchKind {
  copy,
  clear,
  make_batch,
  unroll_rows,
  conv_forward,
  conv_data,
  conv_weights,
  add_bias,
  drop_channels,
  column_sums,
  norm_statistics,
  norm_finish_sums,
  norm_apply,
  norm_gradient_sums,
  norm_input_gradient,
  add_activations,
  mask_gradient,
  max_pool,
  max_pool_backward,
  pad_shortcut,
  pad_shortcut_backward,
  average_pool,
  average_pool_backward,
  dense_forward,
  dense_data,
  dense_weights,
  softmax_loss,
  sum_losses,
  weigh_statistics,
  write_step_sums,
  sgd_update,
  update_running,
  pad_channels
};

/// What a launch of a node reads or writes.
enum class Tensor {
  input,
  windows,   ///< of the image, as its convolution reads it
  residual,  ///< the second input
  output,
  weights,  ///< as they are multiplied
  bias,
  gamma,
  beta,
  statistics,   ///< means, then variances
  sums,         ///< over each channel, in place of the statistics of the batch norm that reads it
  square_sums,  ///< the same of squares
  winners,      ///< of a max pooling
  output_gradient,
  other_gradient,  ///< the second summand of the output's
  addend,          ///< what another reader contributed to the input's
  input_gradient,
  residual_gradient,
  weight_gradient,  ///< as a product leaves it
  bias_gradient,
  gamma_gradient,
  beta_gradient,
  summed_bias_gradient,  ///< of the convolution that a batch norm reads
  passed_bias_gradient,  ///< of the one whose output that one adds
  arena_gradient         ///< fp32 weight gradients, of those that a product leaves otherwise
};

/// A tensor of a launch, and the bytes of it that are read or written, each once.
struct TensorBytes {
  Tensor tensor;
  double bytes;
};

struct Launch {
  LaunchKind kind;
  std::vector<TensorBytes> reads, writes;
  double flops = 0;  ///< of a product by cuDNN or cuBLAS
  double side = 0;   ///< of a convolution: the shorter side of its weights as a matrix

  bool is_convolution() const { return side > 0; }
  bool is_product() const { return flops > 0; }
  /// It goes beside what follows: the gradient of a convolution's weights, and what becomes of it.
  bool goes_beside() const {
    return kind == LaunchKind::conv_weights || kind == LaunchKind::drop_channels;
  }
  bool uses(Tensor tensor) const { return has(reads, tensor) || has(writes, tensor); }
  /// A kernel of rueda's own that sums over the rows of a batch, by channel: its last block adds up
  /// what the others leave.
  bool sums_rows() const {
    if (kind == LaunchKind::norm_finish_sums) return false;
    return has(writes, Tensor::statistics) || has(writes, Tensor::gamma_gradient) ||
           has(writes, Tensor::bias_gradient) || has(writes, Tensor::summed_bias_gradient) ||
           has(writes, Tensor::passed_bias_gradient);
  }
  double bytes_read() const { return sum_of(reads); }
  double bytes_written() const { return sum_of(writes); }
  Work work() const { return {flops, bytes_read() + bytes_written()}; }

 private:
  static bool has(const std::vector<TensorBytes>& tensors, Tensor tensor) {
    return std::ranges::find(tensors, tensor, &TensorBytes::tensor) != tensors.end();
  }
  static double sum_of(const std::vector<TensorBytes>& tensors) {
    double sum = 0;
    for (const TensorBytes& t : tensors) sum += t.bytes;
    return sum;
  }
};

/// What a convolution does on its way with bias, residual, and sums for the
/// batch norm that reads its output: nothing, the addition, or the sums too.
enum class Epilogue { none, adds, sums };

/// What cuDNN has an engine for in full batches of training, if bits may vary
/// (docs/cuda.md#the-kernels-judged-without-a-gpu).
constexpr Epilogue usual_epilogue(Precision precision) {
  return precision == Precision::fp32 ? Epilogue::adds : Epilogue::sums;
}

/// How the gradients of a node come and go.
struct GradientUse {
  std::size_t summands = 1;  ///< of its output's gradient
  bool adds = false;         ///< another reader's contribution to the input's
  bool wants_input = true;   ///< the input's is wanted
};

/// Whether what a node puts out is kept in bf16.
inline bool is_bf16(const Node& node, Precision precision) {
  return precision == Precision::bf16 && !after_pooling(node);
}
inline std::size_t element_bytes(const Node& node, Precision precision) {
  return is_bf16(node, precision) ? sizeof(kernels::Bfloat16) : sizeof(float);
}
/// How the convolution `node` reads the image; nothing where it reads another layer, or where no
/// tensor cores multiply: in fp32 it reads the image itself.
std::optional<kernels::RowWindows> windows_of(const Graph& graph, NodeId node, Precision precision);
/// Of all windows of a batch.
std::size_t window_bytes(const NodeRequest& request, Precision precision);

/// The launches of one node.
class NodeLaunches {
 public:
  NodeLaunches(const NodeRequest& request, Precision precision)
      : r_(request), precision_(precision) {}

  OperationNeeds needs() const;
  /// `epilogue`: of the convolution, or of the one that a batch norm reads.
  std::vector<Launch> forward(Epilogue epilogue) const;
  /// The output once more, from known statistics.
  std::vector<Launch> recompute(Epilogue epilogue) const;
  std::vector<Launch> backward(const GradientUse& use) const;

 private:
  NodeRequest r_;
  Precision precision_;
};

/// The convolution itself among the launches of its forward pass.
inline const Launch& convolution_of(const std::vector<Launch>& forward) {
  return *std::ranges::find_if(forward, &Launch::is_convolution);
}

/// A launch of a step and the node that it works for; the input's: for none.
struct StepLaunch {
  NodeId node;
  Launch launch;
};

/// A step of training in order: the batch, forward, loss, backward, update.
/// One rank alone with one micro-batch, whose update is the only reader of gradients. `graph` is
/// fused by kGpuFusions, `epilogue` that of convolutions with an addition; no engine is tuned.
std::vector<StepLaunch> step_launches(const Graph& graph, int batch, Precision precision,
                                      Epilogue epilogue);

}  // namespace rueda
