#include "graph.hpp"

// Descriptors as texts, which other processes can read: handles in them mean nothing there.

namespace rueda::standin {
namespace {

const std::string kTitle = "a plan of the stand-in for cuDNN\n";

void put(std::string& text, const void* bytes, std::size_t count) {
  text.append(static_cast<const char*>(bytes), count);
}

template <typename T>
void put(std::string& text, const T& value) {
  put(text, &value, sizeof value);
}

void put_descriptor(std::string& text, const Descriptor& d) {
  put(text, d.type);
  put(text, d.values.size());
  for (const auto& [name, value] : d.values) {
    put(text, name);
    put(text, value.type);
    put(text, value.count);
    put(text, value.bytes.size());
    put(text, value.bytes.data(), value.bytes.size());
    put(text, value.descriptors.size());
    for (const auto& child : value.descriptors) put_descriptor(text, *child);
  }
}

/// Takes what was put, from the front.
class Reader {
 public:
  explicit Reader(std::string_view text) : left_(text) {}

  template <typename T>
  T take() {
    T value{};
    std::memcpy(&value, take_bytes(sizeof value).data(), sizeof value);
    return value;
  }

  DescriptorPtr take_descriptor() {
    auto d = std::make_shared<Descriptor>(
        Descriptor{.type = take<cudnnBackendDescriptorType_t>(), .finalized = true});
    for (auto values = take<std::size_t>(); values > 0; --values) {
      const auto name = take<cudnnBackendAttributeName_t>();
      Value& value = d->values[name];
      value.type = take<cudnnBackendAttributeType_t>();
      value.count = take<std::int64_t>();
      const std::string_view bytes = take_bytes(take<std::size_t>());
      value.bytes.resize(bytes.size());
      std::memcpy(value.bytes.data(), bytes.data(), bytes.size());
      for (auto children = take<std::size_t>(); children > 0; --children)
        value.descriptors.push_back(take_descriptor());
    }
    return d;
  }

 private:
  std::string_view take_bytes(std::size_t count) {
    require(count <= left_.size(), "the text of a plan ends too early");
    const std::string_view bytes = left_.substr(0, count);
    left_.remove_prefix(count);
    return bytes;
  }

  std::string_view left_;
};

}  // namespace

std::string text_of(const Descriptor& descriptor) {
  std::string text = kTitle;
  put_descriptor(text, descriptor);
  return text;
}

DescriptorPtr descriptor_in(const std::string& text) {
  require(text.starts_with(kTitle), "the text is of no plan");
  return Reader(std::string_view(text).substr(kTitle.size())).take_descriptor();
}

}  // namespace rueda::standin
