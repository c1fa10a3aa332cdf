#include "element.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "refusal.hpp"

namespace rueda::standin {
namespace {

template <typename T>
const T& element(const void* memory, std::size_t index) {
  return static_cast<const T*>(memory)[index];
}

template <typename T>
T& element(void* memory, std::size_t index) {
  return static_cast<T*>(memory)[index];
}

void write_bit(void* memory, std::size_t index, bool value) {
  auto& byte = element<std::uint8_t>(memory, index / 8);
  const auto bit = static_cast<std::uint8_t>(1U << index % 8);
  byte = static_cast<std::uint8_t>(value ? byte | bit : byte & ~bit);
}

[[noreturn]] void refuse(cudnnDataType_t type) {
  throw Refusal(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE,
                "data type " + std::to_string(type) + " is not known to the stand-in");
}

}  // namespace

std::size_t element_bits(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_BOOLEAN:
      return 1;
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_UINT8:
      return 8;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return 16;
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_INT32:
      return 32;
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64:
      return 64;
    default:
      refuse(type);
  }
}

float read_element(cudnnDataType_t type, const void* memory, std::size_t index) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      return element<float>(memory, index);
    case CUDNN_DATA_BFLOAT16:
      return __bfloat162float(element<__nv_bfloat16>(memory, index));
    case CUDNN_DATA_HALF:
      return __half2float(element<__half>(memory, index));
    case CUDNN_DATA_DOUBLE:
      return static_cast<float>(element<double>(memory, index));
    case CUDNN_DATA_BOOLEAN:
      return static_cast<float>(element<std::uint8_t>(memory, index / 8) >> index % 8 & 1U);
    case CUDNN_DATA_INT8:
      return static_cast<float>(element<std::int8_t>(memory, index));
    case CUDNN_DATA_UINT8:
      return static_cast<float>(element<std::uint8_t>(memory, index));
    case CUDNN_DATA_INT32:
      return static_cast<float>(element<std::int32_t>(memory, index));
    case CUDNN_DATA_INT64:
      return static_cast<float>(element<std::int64_t>(memory, index));
    default:
      refuse(type);
  }
}

void write_element(cudnnDataType_t type, void* memory, std::size_t index, float value) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
      element<float>(memory, index) = value;
      return;
    case CUDNN_DATA_BFLOAT16:
      element<__nv_bfloat16>(memory, index) = __float2bfloat16(value);
      return;
    case CUDNN_DATA_HALF:
      element<__half>(memory, index) = __float2half(value);
      return;
    case CUDNN_DATA_DOUBLE:
      element<double>(memory, index) = static_cast<double>(value);
      return;
    case CUDNN_DATA_BOOLEAN:
      return write_bit(memory, index, value != 0);
    case CUDNN_DATA_INT8:
      element<std::int8_t>(memory, index) = static_cast<std::int8_t>(value);
      return;
    case CUDNN_DATA_UINT8:
      element<std::uint8_t>(memory, index) = static_cast<std::uint8_t>(value);
      return;
    case CUDNN_DATA_INT32:
      element<std::int32_t>(memory, index) = static_cast<std::int32_t>(value);
      return;
    case CUDNN_DATA_INT64:
      element<std::int64_t>(memory, index) = static_cast<std::int64_t>(value);
      return;
    default:
      refuse(type);
  }
}

}  // namespace rueda::standin
