#include <variant>

#include "backend/launches.hpp"
#include "base/split.hpp"

// What a node's launches need besides their tensors.

namespace rueda {
namespace {

constexpr int kPackBytes = 16;  ///< as tensor cores are given operands

struct Needs {
  const NodeRequest& r;
  Precision precision;
  bool adds() const { return r.self().inputs.size() == 2; }

  OperationNeeds operator()(const ConvNode&) const {
    OperationNeeds needs;
    if (adds()) needs.passes_gradient = 0b10;
    needs.workspace_bytes = window_bytes(r, precision);
    needs.keeps_input = needs.workspace_bytes == 0;
    needs.goes_on = r.mode == Mode::train;
    return needs;
  }
  OperationNeeds operator()(const BatchNormNode& norm) const {
    return {.keeps_input = true,
            .keeps_output = adds() && norm.relu,
            .sums_gradients = true,
            .adds_to_gradient = true};
  }
  OperationNeeds operator()(const AddNode& add) const {
    if (!add.relu) return {.passes_gradient = 0b11};
    return {.keeps_output = true, .sums_gradients = true, .shares_input_gradient = true};
  }
  OperationNeeds operator()(const MaxPoolNode&) const {
    if (r.mode != Mode::train) return {};
    return {.workspace_bytes = std::size_t(r.batch) * r.self().output.elements()};
  }
  OperationNeeds operator()(const DenseNode&) const { return {.keeps_input = true}; }
  template <typename Kind>
  OperationNeeds operator()(const Kind&) const {
    return {};
  }
};

}  // namespace

std::optional<kernels::RowWindows> windows_of(const Graph& graph, NodeId node,
                                              Precision precision) {
  const Node& self = graph.node(node);
  if (self.inputs.front() != graph.input() || precision == Precision::fp32) return std::nullopt;
  const auto& conv = std::get<ConvNode>(self.kind);
  const Shape image = graph.shape(graph.input());
  const int pack = kPackBytes / int(element_bytes(self, precision));
  const int values = conv.kernel * image.channels;
  return kernels::RowWindows{.row = image.width * image.channels,
                             .count = self.output.width,
                             .step = conv.stride * image.channels,
                             .before = conv.padding * image.channels,
                             .values = values,
                             .stored = int(pieces(std::size_t(values), std::size_t(pack))) * pack};
}

std::size_t window_bytes(const NodeRequest& r, Precision precision) {
  const auto windows = windows_of(r.graph, r.node, precision);
  if (!windows) return 0;
  const int rows = r.batch * r.graph.shape(r.input()).height;
  return std::size_t(rows) * std::size_t(windows->count) * std::size_t(windows->stored) *
         element_bytes(r.self(), precision);
}

OperationNeeds NodeLaunches::needs() const {
  return std::visit(Needs{r_, precision_}, r_.self().kind);
}

}  // namespace rueda
