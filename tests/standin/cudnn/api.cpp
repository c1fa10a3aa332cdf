#include <algorithm>

#include "../runtime/runtime.hpp"
#include "graph.hpp"

// The functions of cuDNN that the CUDA part calls.

namespace standin = rueda::standin;
using standin::Descriptor;
using standin::DescriptorPtr;
using standin::require;
using standin::Value;

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

namespace {

thread_local std::string last_message;

cudnnStatus_t keep(cudnnStatus_t status, const std::string& message) {
  last_message = "stand-in for cuDNN: " + message;
  return status;
}

/// Calls `body`; what it throws becomes a status and a message.
template <typename Body>
cudnnStatus_t guarded(const Body& body) {
  try {
    body();
    return CUDNN_STATUS_SUCCESS;
  } catch (const standin::Refusal& refusal) {
    return keep(refusal.status, refusal.what());
  } catch (const std::exception& error) {
    return keep(CUDNN_STATUS_INTERNAL_ERROR, error.what());
  }
}

/// What a caller holds: others may share the descriptor.
struct Holder {
  std::shared_ptr<Descriptor> descriptor;
};

Descriptor& descriptor_of(cudnnBackendDescriptor_t handle) {
  require(handle != nullptr, "a descriptor is null");
  return *static_cast<Holder*>(handle)->descriptor;
}

Descriptor& finished(cudnnBackendDescriptor_t handle, cudnnBackendDescriptorType_t type) {
  Descriptor& descriptor = descriptor_of(handle);
  require(descriptor.type == type,
          standin::name_of(descriptor.type) + " given for " + standin::name_of(type));
  require(descriptor.finalized, standin::name_of(type) + " is not finalised");
  return descriptor;
}

std::vector<DescriptorPtr> children_from(const void* elements, std::size_t count) {
  const auto* handles = static_cast<const cudnnBackendDescriptor_t*>(elements);
  std::vector<DescriptorPtr> children;
  for (std::size_t i = 0; i < count; ++i) {
    const Descriptor& child = descriptor_of(handles[i]);
    require(child.finalized, standin::name_of(child.type) + " is used before it is finalised");
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
  descriptor.values[name] = type == CUDNN_TYPE_BACKEND_DESCRIPTOR
                                ? Value(children_from(elements, std::size_t(count)))
                                : Value(type, count, elements);
}

/// What allocates device memory or loads code, which CUDA forbids in a capture.
void refuse_in_capture(const std::string& what) {
  require(standin::forbid_in_capture() == cudaSuccess, what + " in a capture",
          CUDNN_STATUS_INTERNAL_ERROR);
}

/// What a type of descriptor requires beyond having its attributes.
void check_meaning(Descriptor& d) {
  switch (d.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      static_cast<void>(standin::tensor_spec(d));
      break;
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      static_cast<void>(standin::OperationGraph(d));
      break;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      standin::check_pattern(
          *d.child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
      break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      refuse_in_capture("making a plan");
      d.plan = standin::make_plan(d);
      break;
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      require(d.values.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).count ==
                  d.values.at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).count,
              "VARIANT_PACK: as many pointers as ids are needed");
      for (const auto id : d.all<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS))
        require(id > 0, "VARIANT_PACK: an id of 0 looks like one that was never set");
      break;
    default:
      if (standin::is_operation(d.type)) static_cast<void>(standin::make_operation(d));
  }
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
            "the result is a " + standin::name_of(value.descriptors[i]->type));
    static_cast<Holder*>(handle)->descriptor = std::make_shared<Descriptor>(*value.descriptors[i]);
  }
}

standin::Bindings::Pointers pointers_of(const Descriptor& pack) {
  const auto ids = pack.all<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = pack.all<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  standin::Bindings::Pointers result;
  for (std::size_t i = 0; i < ids.size(); ++i)
    require(result.emplace(ids[i], pointers[i]).second, "VARIANT_PACK: an id occurs twice");
  return result;
}

}  // namespace

extern "C" {

size_t cudnnGetVersion() { return CUDNN_VERSION; }

const char* cudnnGetErrorString(cudnnStatus_t status) {
  constexpr const char* kCategories[] = {
      "CUDNN_STATUS_SUCCESS",        "CUDNN_STATUS_NOT_INITIALIZED",
      "CUDNN_STATUS_BAD_PARAM",      "CUDNN_STATUS_NOT_SUPPORTED",
      "CUDNN_STATUS_INTERNAL_ERROR", "CUDNN_STATUS_EXECUTION_FAILED"};
  return kCategories[std::min(CUDNN_STATUS_CATEGORY(status) / 1000, 5)];
}

void cudnnGetLastErrorString(char* message, size_t max_size) {
  if (message == nullptr || max_size == 0) return;
  const std::size_t length = std::min(last_message.size(), max_size - 1);
  std::memcpy(message, last_message.data(), length);
  message[length] = '\0';
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  return guarded([&] {
    require(standin::device_count() > 0, "there is no device", CUDNN_STATUS_NOT_INITIALIZED);
    refuse_in_capture("cudnnCreate");
    *handle = new cudnnContext;
  });
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  return guarded([&] {
    refuse_in_capture("cudnnDestroy");
    delete handle;
  });
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  *stream = handle->stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* handle) {
  *handle = new Holder{std::make_shared<Descriptor>(Descriptor{.type = type})};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t handle) {
  delete static_cast<Holder*>(handle);
  return CUDNN_STATUS_SUCCESS;
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
            standin::name_of(descriptor.type) + " is asked before it is finalised");
    const Value value = standin::value_of(descriptor, name);
    require(value.count == 0 || value.type == type, "an attribute is asked for in a wrong type");
    if (count != nullptr) *count = standin::count_for(name, value, requested);
    if (elements == nullptr || requested <= 0) return;
    hand_over(value, std::size_t(std::min(requested, value.count)), elements);
  });
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan_handle,
                                  cudnnBackendDescriptor_t pack_handle) {
  return guarded([&] {
    const Descriptor& plan = finished(plan_handle, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    const Descriptor& pack = finished(pack_handle, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    auto items =
        plan.plan->bind(pointers_of(pack), pack.one<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE));
    standin::note_launch(plan.plan->launch());
    for (auto& item : items) {
      const cudaError_t code = standin::submit(handle->stream, std::move(item));
      require(code == cudaSuccess, cudaGetErrorString(code), CUDNN_STATUS_EXECUTION_FAILED_CUDART);
    }
  });
}

}  // extern "C"
