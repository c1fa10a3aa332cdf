#include "context.hpp"

#include <variant>

#include "rueda/core/error.hpp"

namespace rueda::cuda {

void throw_cublas_error(cublasStatus_t status, const char* call, std::source_location place) {
  throw RunError(std::string(call) + " failed: " + cublasGetStatusString(status) + " [" +
                 place.file_name() + ":" + std::to_string(place.line()) + "]");
}

bool is_behind_pooling(const Node& node) {
  return std::holds_alternative<GlobalAveragePoolNode>(node.kind) ||
         std::holds_alternative<DenseNode>(node.kind);
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

}  // namespace rueda::cuda
