#include "backend/launches.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "backend/gradient_plan.hpp"
#include "model/gpu_fusion.hpp"
#include "rueda/backend/gradient_arena.hpp"
#include "rueda/data/dataset.hpp"

namespace rueda {
namespace {

constexpr double kFloat = sizeof(float);

/// What works for no node.
Launch launch(LaunchKind kind, double read, double written) {
  return {kind, {{Tensor::input, read}}, {{Tensor::output, written}}};
}

/// Lists a step.
class StepLister {
 public:
  StepLister(const Graph& graph, int batch, Precision precision, Epilogue epilogue)
      : graph_(graph), batch_(batch), precision_(precision), epilogue_(epilogue) {}

  std::vector<StepLaunch> list() && {
    make_batch();
    forward();
    loss();
    backward();
    update();
    return std::move(launches_);
  }

 private:
  NodeLaunches of(NodeId id) const {
    return NodeLaunches({graph_, id, batch_, Mode::train}, precision_);
  }
  /// Without tuned engines: of the convolution, or of the one that a batch norm reads.
  Epilogue epilogue_of(NodeId id) const {
    const Node& node = graph_.node(id);
    const bool is_norm = std::holds_alternative<BatchNormNode>(node.kind);
    const Node& conv = is_norm ? graph_.node(node.inputs.front()) : node;
    return has_addition(conv) ? epilogue_ : Epilogue::none;
  }
  void add(Launch launch) { add(graph_.input(), {std::move(launch)}); }
  void add(NodeId id, const std::vector<Launch>& launches) {
    for (const Launch& launch : launches) launches_.push_back({id, launch});
  }

  /// The rank's slot, the numbers of the images, then the images.
  void make_batch() {
    add(launch(LaunchKind::copy, 0, kSlotFloats * kFloat));
    add(launch(LaunchKind::copy, 0, batch_ * sizeof(std::uint32_t)));
    const double chosen = sizeof(std::uint32_t) + kImageBytes + sizeof(std::uint8_t);
    const Shape image = graph_.shape(graph_.input());
    const double pixels = double(image.height) * image.width;
    const auto element = double(element_bytes(graph_.node(graph_.input()), precision_));
    add(launch(LaunchKind::make_batch, batch_ * chosen,
               batch_ * (pixels * image.channels * element + sizeof(std::int32_t))));
  }

  /// cuDNN adds sums to what is there, so all statistics are cleared before the first node.
  void forward() {
    const auto before = std::ptrdiff_t(launches_.size());
    for (NodeId id = 1; id <= graph_.logits(); ++id) add(id, of(id).forward(epilogue_of(id)));
    const auto sums = [](const StepLaunch& step) { return step.launch.uses(Tensor::sums); };
    if (std::ranges::none_of(launches_, sums)) return;
    const double bytes = double(graph_.statistics_count()) * kFloat;
    launches_.insert(launches_.begin() + before,
                     {graph_.input(), launch(LaunchKind::clear, 0, bytes)});
  }

  void loss() {
    const double logits = double(batch_) * graph_.classes() * kFloat;
    const double losses = batch_ * (kFloat + sizeof(bool));
    const double statistics = double(graph_.statistics_count()) * kFloat;
    add(launch(LaunchKind::softmax_loss, logits + batch_ * sizeof(std::int32_t) + kFloat,
               logits + losses));
    add(launch(LaunchKind::sum_losses, losses, 2 * kFloat));
    add(launch(LaunchKind::weigh_statistics, 2 * statistics, statistics));
    add(launch(LaunchKind::write_step_sums, statistics + 3 * kFloat, sizeof(StepSums)));
  }

  void backward() {
    std::vector<OperationNeeds> needs(1);
    for (NodeId id = 1; id <= graph_.logits(); ++id) needs.push_back(of(id).needs());
    const GradientPlan plan = plan_gradients(graph_, needs);
    for (NodeId id = graph_.logits(); id >= 1; --id) {
      const GradientRoute& route = plan.routes[index(id)];
      const double bytes = batch_ * double(graph_.shape(id).elements()) *
                           double(element_bytes(graph_.node(id), precision_));
      for (std::size_t i = 0; i < route.sums(); ++i)
        add(id, {launch(LaunchKind::add_activations, 2 * bytes, bytes)});
      add(id, of(id).backward({.summands = route.summands(),
                               .adds = route.addend >= 0,
                               .wants_input = route.outgoing.front() >= 0}));
    }
  }

  /// Bytes of all gradients as products leave them: of convolutions in bf16, except where windows
  /// are read.
  double gradient_bytes() const {
    double bytes = double(graph_.parameter_count()) * kFloat;
    for (const Node& node : graph_.nodes()) {
      const auto* conv = std::get_if<ConvNode>(&node.kind);
      if (conv == nullptr || node.inputs.front() == graph_.input()) continue;
      bytes -= double(graph_.parameter(conv->weight).count) *
               (kFloat - double(element_bytes(node, precision_)));
    }
    return bytes;
  }

  /// Of all parameters with their packed copies in bf16, then the step's sums to the host, running
  /// statistics, weights for windows.
  void update() {
    const auto parameters = double(graph_.parameter_count());
    const double statistics = double(graph_.statistics_count()) * kFloat;
    double written = 2 * kFloat;  // a parameter
    if (precision_ == Precision::bf16) written += sizeof(kernels::Bfloat16);
    add(launch(LaunchKind::sgd_update, 2 * parameters * kFloat + gradient_bytes(),
               parameters * written));
    add(launch(LaunchKind::copy, sizeof(StepSums) + kSlotFloats * kFloat, 0));
    add(launch(LaunchKind::copy, sizeof(RankFlags), 0));
    add(launch(LaunchKind::update_running, 2 * statistics, statistics));
    for (const NodeId id : graph_.readers(graph_.input())) {
      const auto windows = windows_of(graph_, id, precision_);
      if (!windows) continue;
      const auto& conv = std::get<ConvNode>(graph_.node(id).kind);
      const double plain = double(graph_.parameter(conv.weight).count);
      const auto element = double(element_bytes(graph_.node(id), precision_));
      const double stored = plain / windows->values * windows->stored;
      add(launch(LaunchKind::pad_channels, plain * kFloat, stored * element));
    }
  }

  const Graph& graph_;
  int batch_;
  Precision precision_;
  Epilogue epilogue_;
  std::vector<StepLaunch> launches_;
};

}  // namespace

std::vector<StepLaunch> step_launches(const Graph& graph, int batch, Precision precision,
                                      Epilogue epilogue) {
  return StepLister(graph, batch, precision, epilogue).list();
}

}  // namespace rueda
