#include "cudnn_descriptor.hpp"

#include <fmt/format.h>

#include "rueda/core/error.hpp"

namespace rueda::cuda {

void throw_cudnn_error(cudnnStatus_t status, const std::string& call, std::source_location place) {
  char details[2048] = "";
  cudnnGetLastErrorString(details, sizeof details);
  const std::string more = details[0] != '\0' ? fmt::format(" ({})", details) : "";
  throw RunError(fmt::format("{} failed: {}{} [{}:{}]", call, cudnnGetErrorString(status), more,
                             place.file_name(), place.line()));
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t raw = nullptr;
  check(cudnnBackendCreateDescriptor(type, &raw), "cudnnBackendCreateDescriptor");
  handle_ = Handle<cudnnBackendDescriptor_t, cudnnBackendDestroyDescriptor>(raw);
}

void Descriptor::set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                         std::int64_t count, const void* values) {
  check(cudnnBackendSetAttribute(get(), name, type, count, values),
        "cudnnBackendSetAttribute " + std::to_string(name));
}

std::size_t Descriptor::get_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                std::int64_t room, void* values) const {
  std::int64_t count = 0;
  check(cudnnBackendGetAttribute(get(), name, type, room, &count, values),
        "cudnnBackendGetAttribute " + std::to_string(name));
  return std::size_t(count);
}

Descriptor Descriptor::get_descriptor(cudnnBackendAttributeName_t name,
                                      cudnnBackendDescriptorType_t type) const {
  Descriptor copy(type);
  cudnnBackendDescriptor_t raw = copy.get();
  get_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
  return copy;
}

std::vector<Descriptor> Descriptor::get_descriptors(cudnnBackendAttributeName_t name,
                                                    cudnnBackendDescriptorType_t type,
                                                    std::size_t most) const {
  std::vector<Descriptor> copies(
      std::min(most, get_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr)));
  std::vector<cudnnBackendDescriptor_t> raw;
  for (Descriptor& copy : copies) {
    copy = Descriptor(type);
    raw.push_back(copy.get());
  }
  if (raw.empty()) return copies;
  const auto room = std::int64_t(raw.size());
  copies.resize(
      std::min(copies.size(), get_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, room, raw.data())));
  return copies;
}

bool Descriptor::try_finalize() {
  const cudnnStatus_t status = cudnnBackendFinalize(get());
  // cuDNN understood the question and has nothing for it.
  if (status >= CUDNN_STATUS_NOT_SUPPORTED && status < CUDNN_STATUS_INTERNAL_ERROR) return false;
  check(status, "cudnnBackendFinalize");
  return true;
}

}  // namespace rueda::cuda
