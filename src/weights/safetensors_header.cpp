#include "safetensors_header.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "rueda/core/error.hpp"
#include "rueda/core/printable.hpp"

namespace rueda {
namespace {

constexpr std::array<std::pair<std::string_view, std::size_t>, 16> kDtypeBytes = {{{"BOOL", 1},
                                                                                   {"U8", 1},
                                                                                   {"I8", 1},
                                                                                   {"F8_E4M3", 1},
                                                                                   {"F8_E5M2", 1},
                                                                                   {"F8_E8M0", 1},
                                                                                   {"I16", 2},
                                                                                   {"U16", 2},
                                                                                   {"F16", 2},
                                                                                   {"BF16", 2},
                                                                                   {"I32", 4},
                                                                                   {"U32", 4},
                                                                                   {"F32", 4},
                                                                                   {"I64", 8},
                                                                                   {"U64", 8},
                                                                                   {"F64", 8}}};

/// Bytes that shape and dtype come to.
std::size_t bytes_of(const std::filesystem::path& path, const TensorEntry& tensor) {
  const auto* known = std::find_if(kDtypeBytes.begin(), kDtypeBytes.end(),
                                   [&](const auto& dtype) { return dtype.first == tensor.dtype; });
  if (known == kDtypeBytes.end()) {
    refuse_tensor(path, tensor.name,
                  fmt::format("the dtype '{}' is not known", printable(tensor.dtype)));
  }
  std::size_t bytes = known->second;
  for (const std::size_t extent : tensor.shape) {
    if (extent != 0 && bytes > std::numeric_limits<std::size_t>::max() / extent) {
      refuse_tensor(path, tensor.name, "its shape is larger than any memory");
    }
    bytes *= extent;
  }
  return bytes;
}

void check_tensor(const std::filesystem::path& path, const TensorEntry& tensor,
                  std::size_t data_bytes) {
  if (tensor.begin > tensor.end || tensor.end > data_bytes) {
    refuse_tensor(path, tensor.name,
                  fmt::format("its data_offsets {} to {} do not lie in the {} bytes of data",
                              tensor.begin, tensor.end, data_bytes));
  }
  const std::size_t bytes = bytes_of(path, tensor);
  if (tensor.end - tensor.begin != bytes) {
    refuse_tensor(path, tensor.name,
                  fmt::format("dtype and shape need {} bytes, its data_offsets give it {}", bytes,
                              tensor.end - tensor.begin));
  }
}

}  // namespace

void refuse_file(const std::filesystem::path& path, const std::string& why) {
  throw InputError(fmt::format(
      "weights file {}: {}; it is damaged or no safetensors file: save or copy it again",
      path.string(), why));
}

void refuse_tensor(const std::filesystem::path& path, std::string_view tensor,
                   const std::string& why) {
  refuse_file(path, fmt::format("tensor '{}': {}", printable(tensor), why));
}

void check_layout(const std::filesystem::path& path, const std::vector<TensorEntry>& tensors,
                  std::size_t data_bytes) {
  std::vector<const TensorEntry*> by_place;
  for (const TensorEntry& tensor : tensors) {
    check_tensor(path, tensor, data_bytes);
    by_place.push_back(&tensor);
  }
  std::sort(by_place.begin(), by_place.end(), [](const auto* a, const auto* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  std::size_t covered = 0;
  for (const TensorEntry* tensor : by_place) {
    if (tensor->begin != covered) {
      refuse_tensor(path, tensor->name,
                    fmt::format("its data begins at byte {}, the data before it ends at {}",
                                tensor->begin, covered));
    }
    covered = tensor->end;
  }
  if (covered != data_bytes) {
    refuse_file(path, fmt::format("its tensors have {} bytes of data, but it holds {}", covered,
                                  data_bytes));
  }
}

}  // namespace rueda
