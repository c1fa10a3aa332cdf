#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bfloat16.hpp"
#include "rueda/backend/announcements.hpp"
#include "rueda/backend/arithmetic.hpp"
#include "rueda/backend/batch_input.hpp"
#include "rueda/backend/clocks.hpp"
#include "rueda/backend/operation.hpp"
#include "rueda/backend/precision.hpp"
#include "rueda/model/graph.hpp"
#include "rueda/model/work.hpp"
#include "rueda/reduce/reduce_device.hpp"

namespace rueda {

/// Where the values of an activation lie: channels come in blocks of `block`
/// (channels last: one block of all of them; plain (N, C, H, W): blocks of
/// one), pixels in between. `channels` is padded to whole blocks.
struct ActivationView {
  std::size_t channels = 0;
  std::size_t pixels = 0;
  std::size_t block = 1;
  bool bf16 = false;  ///< else fp32

  std::size_t blocks() const noexcept { return channels / block; }
  std::size_t image_elements() const noexcept { return channels * pixels; }
  std::size_t offset(std::size_t image, std::size_t channel, std::size_t pixel) const noexcept {
    return ((image * blocks() + channel / block) * pixels + pixel) * block + channel % block;
  }
};

/// The arenas that operations read and write, all fp32. `values` and
/// `gradients` follow Graph::parameters(); the statistics follow
/// BatchNormNode::statistics_offset.
struct ParameterMemory {
  std::span<float> values;
  std::span<float> gradients;
  std::span<float> batch_statistics;    ///< of the micro-batch in hand: means and biased variances
  std::span<float> running_statistics;  ///< read in inference
};

/// What a device offers to one replica: operations with forward and backward,
/// their plans, and the narrow view that the all-reduce takes. The rest is in
/// four interfaces of their own, and who needs one of them takes no more.
/// (Inherited virtually, so that a backend is put together from classes that
/// implement one each.)
class Backend : public virtual Arithmetic,
                public virtual BatchInput,
                public virtual Clocks,
                public virtual Announcements {
 public:
  virtual std::string_view name() const = 0;  ///< "cpu", "cuda"
  virtual std::string device() const = 0;     ///< processor or GPU name
  /// Whether this machine computes in it.
  virtual bool offers(Precision precision) const = 0;
  virtual ReduceDevice& reduce_device() = 0;
  /// The graph as this backend runs it: with nodes fused where its kernels can.
  /// Parameters and their places in the arenas stay as they are.
  virtual Graph prepare(const Graph& graph) const { return graph; }
  /// Runs `work`, which makes the same calls with the same memory whenever
  /// `key` is the same: a device may record it and replay the recording later.
  /// Without a key it neither records nor replays.
  virtual void replay(std::optional<std::uint64_t> /*key*/, const std::function<void()>& work) {
    work();
  }

  /// What the device reaches at best; a backend may take half a second to
  /// measure it. Nothing: unknown.
  virtual std::optional<Roof> roof() { return std::nullopt; }
  /// Its arithmetic alone, all threads together; measured anew at each call.
  virtual Peak peak() { return {}; }

  /// How the activation that `node` puts out lies in this backend's memory.
  virtual ActivationView view(const Graph& graph, NodeId node) const = 0;
  /// Bytes that it takes for `batch` images.
  std::size_t activation_bytes(const Graph& graph, NodeId node, int batch) const {
    const ActivationView v = view(graph, node);
    return std::size_t(batch) * v.image_elements() *
           (v.bf16 ? sizeof(kernels::Bfloat16) : sizeof(float));
  }
  /// Plans a node. Packed weights and scratch that it will share with other
  /// operations are counted by `packed_bytes` and `scratch_bytes` from then on.
  virtual std::unique_ptr<Operation> make_operation(const NodeRequest& request) = 0;
  /// A warning where what is planned is far slower than the device could be; empty: it is not.
  virtual std::string slow_plans() const { return ""; }
  virtual std::size_t packed_bytes() const = 0;
  virtual std::size_t scratch_bytes() const = 0;
  /// Bytes of what the backend keeps besides for the largest batch planned: indices, losses.
  virtual std::size_t buffer_bytes() const { return 0; }
  /// Begins anew: as if nothing had been planned or bound. What was planned is
  /// destroyed before, and must not be used any more.
  virtual void forget_plans() = 0;
  /// Names the arenas and allocates what operations share. Comes after the last
  /// `make_operation` and before the first `bind`.
  virtual void bind_parameters(const Graph& graph, const ParameterMemory& memory) = 0;
  /// Renews every packed copy from `values`: after the parameters have changed.
  virtual void pack_parameters() = 0;

  /// to = a + b over an activation of `node` for `batch` images.
  virtual void sum_gradients(const Graph& graph, NodeId node, int batch, std::byte* to,
                             const std::byte* a, const std::byte* b) = 0;
};

}  // namespace rueda
