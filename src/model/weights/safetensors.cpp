#include "model/weights/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/json/bounded_json.hpp"
#include "base/text.hpp"

namespace rueda {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMostHeaderBytes = 100'000'000;
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kMostAxes = 8;
constexpr std::size_t kAlignment = 8;
constexpr std::array<std::string_view, 3> kFields = {"dtype", "shape", "data_offsets"};

/// The header, a tensor, its shape. Networks have hundreds of tensors.
constexpr JsonLimits kHeaderLimits{
    .most_values = 1'000'000, .most_depth = 4, .most_keys = 20'000, .unique_keys = true};

InputFile weights_file(const fs::path& path, const char* remedy) {
  return {path, "weights file " + path.string(), remedy, Wanted::weights};
}

/// Refuses the file for one of its tensors unless `holds`.
void check(const InputFile& file, std::string_view tensor, bool holds,
           const std::string& otherwise) {
  if (!holds) file.refuse(fmt::format("tensor '{}': {}", printable(tensor), otherwise));
}

void read_bytes(std::ifstream& in, const InputFile& file, char* to, std::size_t count) {
  in.read(to, static_cast<std::streamsize>(count));
  file.require(in.good(), "it cannot be read to its end");
}

std::size_t read_header_length(std::ifstream& in, const InputFile& file, std::size_t file_bytes) {
  file.require(file_bytes >= kLengthBytes,
               fmt::format("it has {} bytes, fewer than the length of a header needs", file_bytes));
  std::array<char, kLengthBytes> bytes;
  read_bytes(in, file, bytes.data(), bytes.size());
  const auto length = std::bit_cast<std::uint64_t>(bytes);
  file.require(length <= kMostHeaderBytes,
               fmt::format("its header would have {} bytes, more than the 100 MB allowed", length));
  file.require(length <= file_bytes - kLengthBytes,
               fmt::format("its header would have {} bytes, but only {} follow", length,
                           file_bytes - kLengthBytes));
  return length;
}

bool are_counts(const Json& list) {
  return list.is_array() && std::ranges::all_of(list, &Json::is_number_unsigned);
}

TensorEntry tensor_entry(const InputFile& file, const std::string& name, const Json& fields) {
  const auto require = [&](bool holds, const std::string& otherwise) {
    check(file, name, holds, otherwise);
  };
  require(fields.is_object(), "it must be an object of dtype, shape and data_offsets");
  for (const auto& [field, value] : fields.items()) {
    require(std::ranges::find(kFields, field) != kFields.end(),
            fmt::format("'{}' is no field of a tensor", printable(field)));
  }
  for (const std::string_view field : kFields)
    require(fields.contains(field), fmt::format("{} is missing", field));
  const Json& shape = fields["shape"];
  const Json& offsets = fields["data_offsets"];
  require(fields["dtype"].is_string(), "dtype must be a text");
  require(are_counts(shape), "shape must be a list of whole numbers from 0");
  require(shape.size() <= kMostAxes, "shape has more than 8 axes");
  require(are_counts(offsets) && offsets.size() == 2,
          "data_offsets must be a list of two whole numbers from 0");
  return {name, fields["dtype"], shape, offsets[0], offsets[1]};
}

/// The tensors of a header, in its order. Checks form and names, nothing about sizes.
std::vector<TensorEntry> parse_header(const InputFile& file, std::string_view text) {
  const Json header = parse_json(text, file, kHeaderLimits);
  file.require(header.is_object(), "the header is no JSON object");
  std::vector<TensorEntry> tensors;
  for (const auto& [name, value] : header.items())
    if (name != "__metadata__")
      tensors.push_back(tensor_entry(file, name, value));
    else
      file.require(value.is_object() && std::ranges::all_of(value, &Json::is_string),
                   "__metadata__ must hold texts only");
  return tensors;
}

struct DtypeWidth {
  std::size_t bytes;
  std::array<std::string_view, 6> dtypes;  ///< the empty text stands for none
};
constexpr std::array<DtypeWidth, 4> kDtypeWidths = {{
    {1, {"BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0"}},
    {2, {"I16", "U16", "F16", "BF16"}},
    {4, {"I32", "U32", "F32"}},
    {8, {"I64", "U64", "F64"}},
}};

/// Bytes of an element; 0: no such dtype is known.
std::size_t width_of(std::string_view dtype) {
  if (dtype.empty()) return 0;
  for (const auto& [bytes, dtypes] : kDtypeWidths)
    if (std::ranges::count(dtypes, dtype) > 0) return bytes;
  return 0;
}

/// Bytes that shape and dtype come to.
std::size_t bytes_of(const InputFile& file, const TensorEntry& tensor) {
  std::size_t bytes = width_of(tensor.dtype);
  check(file, tensor.name, bytes > 0,
        fmt::format("the dtype '{}' is not known", printable(tensor.dtype)));
  for (const std::size_t extent : tensor.shape) {
    check(file, tensor.name, extent == 0 || bytes <= kNoLimit / extent,
          "its shape is larger than any memory");
    bytes *= extent;
  }
  return bytes;
}

/// Every tensor has the bytes of its shape, and all together cover the data exactly.
void check_layout(const InputFile& file, const std::vector<TensorEntry>& tensors,
                  std::size_t data_bytes) {
  std::vector<const TensorEntry*> by_offset;
  for (const TensorEntry& tensor : tensors) {
    check(file, tensor.name, tensor.begin <= tensor.end && tensor.end <= data_bytes,
          fmt::format("its data_offsets {} to {} do not lie in the {} bytes of data", tensor.begin,
                      tensor.end, data_bytes));
    const std::size_t bytes = bytes_of(file, tensor);
    check(file, tensor.name, tensor.end - tensor.begin == bytes,
          fmt::format("dtype and shape need {} bytes, its data_offsets give it {}", bytes,
                      tensor.end - tensor.begin));
    by_offset.push_back(&tensor);
  }
  std::ranges::sort(by_offset, {}, [](const auto* t) { return std::pair(t->begin, t->end); });
  std::size_t covered = 0;
  for (const TensorEntry* tensor : by_offset) {
    check(file, tensor->name, tensor->begin == covered,
          fmt::format("its data begins at byte {}, the data before it ends at {}", tensor->begin,
                      covered));
    covered = tensor->end;
  }
  file.require(
      covered == data_bytes,
      fmt::format("its tensors have {} bytes of data, but it holds {}", covered, data_bytes));
}

std::string header_text(std::span<const TensorData> tensors,
                        const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::size_t begin = 0;
  for (const TensorData& tensor : tensors) {
    const std::size_t end = begin + tensor.bytes.size();
    header[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return text;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const fs::path& path) : path_(path) {
  require_regular_file(weights_file(path, "give the path of a safetensors file"), kNoLimit);
  const InputFile file =
      weights_file(path, "it is damaged or no safetensors file: save or copy it again");
  in_.open(path, std::ios::binary | std::ios::ate);
  file.require(in_.good(), "it cannot be opened");
  const auto file_bytes = std::size_t(in_.tellg());
  in_.seekg(0);
  const std::size_t length = read_header_length(in_, file, file_bytes);
  std::string header(length, '\0');
  read_bytes(in_, file, header.data(), length);
  data_begin_ = kLengthBytes + length;
  tensors_ = parse_header(file, header);
  check_layout(file, tensors_, file_bytes - data_begin_);
}

void SafetensorsFile::read(const TensorEntry& tensor, std::span<float> out) {
  if (tensor.dtype != "F32" || out.size_bytes() != tensor.end - tensor.begin) {
    throw std::logic_error("tensor " + tensor.name +
                           " is read into memory of another size or type");
  }
  in_.seekg(static_cast<std::streamoff>(data_begin_ + tensor.begin));
  read_bytes(in_, weights_file(path_, "check its permissions and disk"),
             reinterpret_cast<char*>(out.data()), out.size_bytes());
}

void write_safetensors(const fs::path& path, std::span<const TensorData> tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::string header = header_text(tensors, metadata);
  const auto length = std::bit_cast<std::array<char, kLengthBytes>>(std::uint64_t{header.size()});
  write_output(path, [&](const TextSink& put) {
    put({length.data(), length.size()});
    put(header);
    for (const auto& [name, dtype, shape, bytes] : tensors)
      put({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  });
}

}  // namespace rueda
