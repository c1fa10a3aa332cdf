#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "rueda/core/printable.hpp"
#include "safetensors_header.hpp"

namespace rueda {
namespace {

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
