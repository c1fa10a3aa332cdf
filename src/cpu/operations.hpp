#pragma once

#include <memory>

#include "context.hpp"
#include "rueda/backend/operation.hpp"
#include "rueda/model/graph.hpp"

namespace rueda::cpu {

/// What a maker of an operation is given. `context` outlives the operation.
struct OperationRequest {
  Context& context;
  const Graph& graph;
  NodeId node;
  int batch;
  Mode mode;

  const Node& self() const { return graph.node(node); }
  NodeId input(std::size_t i = 0) const { return self().inputs.at(i); }
  dnnl::memory::desc output_desc() const { return context.desc(graph, node, batch); }
  dnnl::memory::desc input_desc(std::size_t i = 0) const {
    return context.desc(graph, input(i), batch);
  }
  BlockedView output_view() const { return blocked_view(graph, node, context.format.layout); }
  BlockedView input_view() const { return blocked_view(graph, input(), context.format.layout); }
};

std::unique_ptr<Operation> make_conv(const OperationRequest& request, const ConvNode& conv);
std::unique_ptr<Operation> make_batch_norm(const OperationRequest& request,
                                           const BatchNormNode& norm);
std::unique_ptr<Operation> make_add(const OperationRequest& request, const AddNode& add);
std::unique_ptr<Operation> make_max_pool(const OperationRequest& request, const MaxPoolNode& pool);
std::unique_ptr<Operation> make_pad_shortcut(const OperationRequest& request,
                                             const PadShortcutNode& pad);
std::unique_ptr<Operation> make_global_average_pool(const OperationRequest& request);
std::unique_ptr<Operation> make_dense(const OperationRequest& request, const DenseNode& dense);

}  // namespace rueda::cpu
