#include "rueda/weights/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rueda/core/error.hpp"
#include "rueda/core/files.hpp"
#include "rueda/core/text.hpp"

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

using Json = nlohmann::json;

constexpr std::size_t kMostAxes = 8;
constexpr std::string_view kMetadata = "__metadata__";

/// Takes the header as the parser meets it and refuses whatever does not belong where it stands, so
/// that no document is ever built and nothing nests deeper than a tensor's shape.
class HeaderHandler final : public Json::json_sax_t {
 public:
  explicit HeaderHandler(const std::filesystem::path& path) : path_(path) {}

  std::vector<TensorEntry> take() { return std::move(tensors_); }

  bool start_object(std::size_t) override {
    if (place_ == Place::outside) return enter(Place::header);
    if (place_ != Place::header) refuse_value();
    if (key_ == kMetadata) return enter(Place::metadata);
    tensors_.push_back({.name = key_, .dtype = {}, .shape = {}});
    seen_.clear();
    return enter(Place::tensor);
  }

  bool key(std::string& name) override {
    key_ = name;
    if (place_ == Place::header && !names_.insert(name).second) {
      refuse_tensor(path_, name, "the name is there twice");
    }
    if (place_ == Place::tensor) expect_field();
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor) {
      for (const char* field : {"dtype", "shape", "data_offsets"})
        if (seen_.count(field) == 0) refuse_current(fmt::format("{} is missing", field));
    }
    return enter(place_ == Place::header ? Place::outside : Place::header);
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::tensor || key_ == "dtype") refuse_value();
    offsets_ = 0;
    return enter(Place::list);
  }

  bool end_array() override {
    if (key_ == "data_offsets" && offsets_ != 2) refuse_value();
    return enter(Place::tensor);
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::list) refuse_value();
    TensorEntry& tensor = tensors_.back();
    if (key_ == "shape") {
      if (tensor.shape.size() == kMostAxes) refuse_current("shape has more than 8 axes");
      tensor.shape.push_back(value);
    } else {
      (offsets_++ == 0 ? tensor.begin : tensor.end) = value;
    }
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::metadata) return true;
    if (place_ != Place::tensor || key_ != "dtype") refuse_value();
    tensors_.back().dtype = value;
    return true;
  }

  bool null() override { refuse_value(); }
  bool boolean(bool) override { refuse_value(); }
  bool number_integer(number_integer_t) override { refuse_value(); }
  bool number_float(number_float_t, const std::string&) override { refuse_value(); }
  bool binary(binary_t&) override { refuse_value(); }

  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    refuse_file(path_, fmt::format("the header is no JSON at its byte {}", position));
  }

 private:
  enum class Place { outside, header, metadata, tensor, list };

  bool enter(Place place) {
    place_ = place;
    return true;
  }

  void expect_field() {
    if (key_ != "dtype" && key_ != "shape" && key_ != "data_offsets") {
      refuse_current(fmt::format("'{}' is no field of a tensor", printable(key_)));
    }
    if (!seen_.insert(key_).second) refuse_current(fmt::format("{} is there twice", key_));
  }

  [[noreturn]] void refuse_current(const std::string& why) const {
    refuse_tensor(path_, tensors_.back().name, why);
  }

  /// The value in hand is of another kind than its place wants.
  [[noreturn]] void refuse_value() const {
    switch (place_) {
      case Place::outside:
        refuse_file(path_, "the header is no JSON object");
      case Place::header:
        refuse_tensor(path_, key_, "it must be an object of dtype, shape and data_offsets");
      case Place::metadata:
        refuse_file(path_, "__metadata__ must hold texts only");
      default:
        break;
    }
    if (key_ == "dtype") refuse_current("dtype must be a text");
    if (key_ == "shape") refuse_current("shape must be a list of whole numbers from 0");
    refuse_current("data_offsets must be a list of two whole numbers from 0");
  }

  const std::filesystem::path& path_;
  std::vector<TensorEntry> tensors_;
  std::set<std::string> names_;  ///< of all tensors so far
  std::set<std::string> seen_;   ///< fields of the tensor in hand
  std::string key_;
  Place place_ = Place::outside;
  int offsets_ = 0;
};

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

std::vector<TensorEntry> parse_header(const std::filesystem::path& path, std::string_view text) {
  // The parser would take a zero byte for the end of the text.
  if (const auto zero = text.find('\0'); zero != text.npos) {
    refuse_file(path, fmt::format("the header is no JSON at its byte {}", zero + 1));
  }
  HeaderHandler handler(path);
  Json::sax_parse(text.begin(), text.end(), &handler);
  return handler.take();
}

}  // namespace rueda
