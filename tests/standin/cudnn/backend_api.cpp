#include <algorithm>
#include <cstring>

#include "engines.hpp"
#include "handle.hpp"
#include "plan.hpp"
#include "tests/standin/runtime/stream.hpp"

namespace standin = rueda::standin;
using standin::Descriptor;
using standin::DescriptorPtr;
using standin::guarded;
using standin::require;
using standin::Value;

namespace {

/// What a caller holds: others may share the descriptor.
struct Holder {
  std::shared_ptr<Descriptor> descriptor;
};

Descriptor& descriptor_of(cudnnBackendDescriptor_t handle) {
  require(handle != nullptr, "a descriptor is null", CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  return *static_cast<Holder*>(handle)->descriptor;
}

Descriptor& finished(cudnnBackendDescriptor_t handle, cudnnBackendDescriptorType_t type) {
  Descriptor& descriptor = descriptor_of(handle);
  require(descriptor.type == type,
          standin::name_of(descriptor.type) + " given for " + standin::name_of(type),
          CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE);
  require(descriptor.finalized, standin::name_of(type) + " is not finalised",
          CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  return descriptor;
}

std::vector<DescriptorPtr> children_from(const void* elements, std::size_t count) {
  const auto* handles = static_cast<const cudnnBackendDescriptor_t*>(elements);
  std::vector<DescriptorPtr> children;
  for (std::size_t i = 0; i < count; ++i) {
    const Descriptor& child = descriptor_of(handles[i]);
    require(child.finalized, standin::name_of(child.type) + " is used before it is finalised",
            CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
    children.push_back(static_cast<const Holder*>(handles[i])->descriptor);
  }
  return children;
}

void set_attribute(Descriptor& descriptor, cudnnBackendAttributeName_t name,
                   cudnnBackendAttributeType_t type, std::int64_t count, const void* elements) {
  require(!descriptor.finalized, standin::name_of(descriptor.type) + " is finalised already");
  standin::check_attribute(descriptor.type, name, type);
  require(count >= 1 && elements != nullptr,
          standin::name_of(descriptor.type) + ": attribute " + std::to_string(name) + " is empty");
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    descriptor.set(name, children_from(elements, static_cast<std::size_t>(count)));
    return;
  }
  const auto* first = static_cast<const std::byte*>(elements);
  const std::size_t bytes = static_cast<std::size_t>(count) * standin::element_bytes(type);
  descriptor.values[name] = {type, count, {first, first + bytes}, {}};
}

void finish_plan(Descriptor& plan) {
  if (plan.has(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION)) {
    const auto text = plan.all<char>(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
             {standin::engine_config_from_json({text.begin(), text.end()})});
  }
  const DescriptorPtr config = plan.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  require(config != nullptr, "EXECUTION_PLAN lacks an engine configuration");
  plan.plan = standin::make_plan(*config);
}

/// What a type of descriptor requires beyond having its attributes.
void check_meaning(Descriptor& d) {
  switch (d.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      static_cast<void>(standin::tensor_spec(d));
      break;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      static_cast<void>(standin::operations_in_order(d));
      break;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      standin::check_engine(*d.child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH), 0);
      break;
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      standin::check_engine(*d.child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH),
                            d.one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
      break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      finish_plan(d);
      break;
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      require(d.values.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).count ==
                  d.values.at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).count,
              "VARIANT_PACK: as many pointers as ids are needed");
      break;
    default:
      if (standin::is_operation(d.type)) static_cast<void>(standin::make_operation(d));
  }
}

Value value_for(const Descriptor& descriptor, cudnnBackendAttributeName_t name) {
  if (auto derived = standin::derived_value(descriptor, name)) return *std::move(derived);
  const auto found = descriptor.values.find(name);
  return found == descriptor.values.end() ? Value{} : found->second;
}

/// Descriptors are handed over into those that the caller made for them.
void hand_over(const Value& value, std::size_t count, void* elements) {
  if (value.type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    std::memcpy(elements, value.bytes.data(), count * standin::element_bytes(value.type));
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto handle = static_cast<cudnnBackendDescriptor_t*>(elements)[i];
    require(descriptor_of(handle).type == value.descriptors[i]->type,
            "the result is a " + standin::name_of(value.descriptors[i]->type),
            CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE);
    static_cast<Holder*>(handle)->descriptor = std::make_shared<Descriptor>(*value.descriptors[i]);
  }
}

standin::Bindings::Pointers pointers_of(const Descriptor& pack) {
  const auto ids = pack.all<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = pack.all<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  standin::Bindings::Pointers result;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    require(result.emplace(ids[i], pointers[i]).second, "VARIANT_PACK: an id occurs twice",
            CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES);
  }
  return result;
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* handle) {
  return guarded([&] {
    require(handle != nullptr, "the descriptor is null", CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    *handle = new Holder{std::make_shared<Descriptor>(Descriptor{type, false, {}, nullptr})};
  });
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t handle) {
  delete static_cast<Holder*>(handle);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendInitialize(cudnnBackendDescriptor_t handle) {
  return guarded([&] { static_cast<void>(descriptor_of(handle)); });
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t handle,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void* elements) {
  return guarded([&] { set_attribute(descriptor_of(handle), name, type, count, elements); });
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t handle) {
  return guarded([&] {
    Descriptor& descriptor = descriptor_of(handle);
    standin::check_complete(descriptor);
    check_meaning(descriptor);
    descriptor.finalized = true;
  });
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t handle,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t requested,
                                       int64_t* count, void* elements) {
  return guarded([&] {
    const Descriptor& descriptor = descriptor_of(handle);
    require(descriptor.finalized,
            standin::name_of(descriptor.type) + " is asked before it is finalised",
            CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
    const Value value = value_for(descriptor, name);
    require(value.count == 0 || value.type == type, "an attribute is asked for in a wrong type",
            CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
    if (count != nullptr) *count = value.count;
    if (elements == nullptr || requested <= 0) return;
    hand_over(value, static_cast<std::size_t>(std::min(requested, value.count)), elements);
  });
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan_handle,
                                  cudnnBackendDescriptor_t pack_handle) {
  return guarded([&] {
    require(handle != nullptr, "the handle is null", CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    const Descriptor& plan = finished(plan_handle, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    const Descriptor& pack = finished(pack_handle, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    auto item =
        plan.plan->bind(pointers_of(pack), pack.one<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE));
    const cudaError_t code =
        standin::submit(handle->stream, std::move(item), cudaGraphNodeTypeKernel);
    require(code == cudaSuccess, cudaGetErrorString(code), CUDNN_STATUS_EXECUTION_FAILED_CUDART);
  });
}

}  // extern "C"
