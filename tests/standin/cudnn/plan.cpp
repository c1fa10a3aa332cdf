#include <algorithm>
#include <cstring>
#include <set>

#include "graph.hpp"
#include "tests/standin/runtime/memory.hpp"

namespace rueda::standin {
namespace {

constexpr std::size_t kWorkspacePerEngine = 1024;
constexpr int kScribble = 0x5A;

using Ids = std::set<std::int64_t>;

Ids ids_written(const std::vector<Operation>& operations) {
  Ids ids;
  for (const Operation& operation : operations) {
    for (const TensorSpec& tensor : operation.writes) {
      require(ids.insert(tensor.id).second,
              "two operations write tensor " + std::to_string(tensor.id),
              CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES);
    }
  }
  return ids;
}

/// Whether what the operation reads is there, or comes from outside the graph.
bool is_ready(const Operation& operation, const Ids& left) {
  return std::none_of(operation.reads.begin(), operation.reads.end(),
                      [&](const TensorSpec& tensor) { return left.count(tensor.id) != 0; });
}

bool same(const TensorSpec& a, const TensorSpec& b) {
  return a.type == b.type && a.dims == b.dims && a.strides == b.strides &&
         a.is_virtual == b.is_virtual;
}

std::map<std::int64_t, TensorSpec> tensors_of(const std::vector<Operation>& operations) {
  std::map<std::int64_t, TensorSpec> tensors;
  const Ids written = ids_written(operations);
  const auto add = [&](const TensorSpec& tensor) {
    const auto [known, is_new] = tensors.emplace(tensor.id, tensor);
    require(is_new || same(known->second, tensor),
            "tensor " + std::to_string(tensor.id) + " is described in two ways",
            CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES);
    require(!tensor.is_virtual || written.count(tensor.id) != 0,
            "no operation makes the virtual tensor " + std::to_string(tensor.id));
  };
  for (const Operation& operation : operations) {
    std::for_each(operation.reads.begin(), operation.reads.end(), add);
    std::for_each(operation.writes.begin(), operation.writes.end(), add);
  }
  return tensors;
}

void check_pointer(const TensorSpec& tensor, const void* pointer) {
  const std::string name = "tensor " + std::to_string(tensor.id);
  require(pointer != nullptr, name + " has a null pointer", CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  require(
      reinterpret_cast<std::uintptr_t>(pointer) % static_cast<std::uintptr_t>(tensor.alignment) ==
          0,
      name + " is not aligned as it was said to be", CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
  require(is_device_range(pointer, extent_bytes(tensor)),
          name + " does not lie wholly in memory of the device");
}

}  // namespace

std::vector<Operation> operations_in_order(const Descriptor& graph) {
  std::vector<Operation> waiting;
  for (const auto& operation : graph.values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).descriptors) {
    waiting.push_back(make_operation(*operation));
  }
  Ids left = ids_written(waiting);
  std::vector<Operation> ordered;
  while (!waiting.empty()) {
    const auto next = std::find_if(waiting.begin(), waiting.end(),
                                   [&](const Operation& o) { return is_ready(o, left); });
    require(next != waiting.end(), "the operations of a graph wait for each other");
    for (const TensorSpec& tensor : next->writes) left.erase(tensor.id);
    ordered.push_back(std::move(*next));
    waiting.erase(next);
  }
  static_cast<void>(tensors_of(ordered));
  return ordered;
}

Plan::Plan(const Descriptor& engine_config) {
  const auto engine =
      engine_config.child(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  const auto graph =
      engine->child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  operations_ = std::make_shared<const std::vector<Operation>>(operations_in_order(*graph));
  tensors_ = tensors_of(*operations_);
  engine_ = engine->one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
}

std::size_t Plan::workspace_bytes() const {
  return kWorkspacePerEngine * static_cast<std::size_t>(engine_);
}

std::function<void()> Plan::bind(const Bindings::Pointers& pointers, void* workspace) const {
  Bindings bindings(pointers);
  for (const auto& [id, tensor] : tensors_) {
    if (tensor.is_virtual) continue;
    const auto found = pointers.find(id);
    require(found != pointers.end(), "tensor " + std::to_string(id) + " is not in the pack");
    check_pointer(tensor, found->second);
  }
  const std::size_t bytes = workspace_bytes();
  require(bytes == 0 || is_device_range(workspace, bytes),
          "the workspace is no device memory of " + std::to_string(bytes) + " bytes");
  return [=, operations = operations_] {
    if (bytes != 0) std::memset(workspace, kScribble, bytes);
    Bindings own = bindings;  // a captured graph runs this many times
    for (const Operation& operation : *operations) operation.run(own);
    if (bytes != 0) std::memset(workspace, ~kScribble, bytes);
  };
}

}  // namespace rueda::standin
