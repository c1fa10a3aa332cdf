#include "rueda/weights/safetensors.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rueda/core/atomic_file.hpp"
#include "rueda/core/error.hpp"
#include "safetensors_header.hpp"

namespace rueda {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMostHeaderBytes = 100'000'000;
constexpr std::size_t kAlignment = 8;

/// Opening a pipe or a device could wait for ever.
std::size_t size_of_regular_file(const fs::path& path) {
  std::error_code error;
  const auto missing = [&](const char* what) {
    return InputError(fmt::format("weights file {}: {}; give the path of a safetensors file",
                                  path.string(), what));
  };
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) throw missing("there is no such file");
  if (!fs::is_regular_file(status)) throw missing("it is not a regular file");
  const std::size_t size = fs::file_size(path, error);
  if (error) throw missing("its size can not be read");
  return size;
}

void read_bytes(std::ifstream& in, const fs::path& path, char* to, std::size_t count) {
  if (in.read(to, static_cast<std::streamsize>(count))) return;
  throw InputError(fmt::format(
      "weights file {} can not be read to its end: check its permissions and disk", path.string()));
}

std::size_t read_header_length(std::ifstream& in, const fs::path& path, std::size_t file_bytes) {
  if (file_bytes < kLengthBytes) {
    refuse_file(
        path, fmt::format("it has {} bytes, fewer than the length of a header needs", file_bytes));
  }
  std::array<char, kLengthBytes> bytes;
  read_bytes(in, path, bytes.data(), bytes.size());
  const auto length = std::bit_cast<std::uint64_t>(bytes);
  if (length > kMostHeaderBytes) {
    refuse_file(
        path, fmt::format("its header would have {} bytes, more than the 100 MB allowed", length));
  }
  if (length > file_bytes - kLengthBytes) {
    refuse_file(path, fmt::format("its header would have {} bytes, but only {} follow", length,
                                  file_bytes - kLengthBytes));
  }
  return length;
}

std::string header_text(std::span<const TensorData> tensors,
                        const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
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
  const std::size_t file_bytes = size_of_regular_file(path);
  in_.open(path, std::ios::binary);
  const std::size_t length = read_header_length(in_, path, file_bytes);
  std::string header(length, '\0');
  read_bytes(in_, path, header.data(), length);
  data_begin_ = kLengthBytes + length;
  tensors_ = parse_header(path, header);
  check_layout(path, tensors_, file_bytes - data_begin_);
}

void SafetensorsFile::read(const TensorEntry& tensor, std::span<float> out) {
  if (tensor.dtype != "F32" || out.size_bytes() != tensor.end - tensor.begin) {
    throw std::logic_error("tensor " + tensor.name +
                           " is read into memory of another size or type");
  }
  in_.seekg(static_cast<std::streamoff>(data_begin_ + tensor.begin));
  read_bytes(in_, path_, reinterpret_cast<char*>(out.data()), out.size_bytes());
}

void write_safetensors(const fs::path& path, std::span<const TensorData> tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::string header = header_text(tensors, metadata);
  const auto length = std::bit_cast<std::array<char, kLengthBytes>>(std::uint64_t{header.size()});
  std::vector<std::string_view> parts = {{length.data(), length.size()}, header};
  for (const TensorData& tensor : tensors) {
    parts.emplace_back(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  write_atomically(path, parts);
}

}  // namespace rueda
