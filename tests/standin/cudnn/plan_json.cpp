#include <nlohmann/json.hpp>

#include "plan.hpp"

namespace rueda::standin {
namespace {

using Json = nlohmann::ordered_json;

std::vector<int> as_numbers(const std::vector<std::byte>& bytes) {
  std::vector<int> numbers;
  for (const std::byte byte : bytes) numbers.push_back(static_cast<int>(byte));
  return numbers;
}

std::vector<std::byte> as_bytes(const std::vector<int>& numbers) {
  std::vector<std::byte> bytes;
  for (const int number : numbers) bytes.push_back(static_cast<std::byte>(number));
  return bytes;
}

Json to_json(const Descriptor& descriptor) {
  Json values = Json::array();
  for (const auto& [name, value] : descriptor.values) {
    if (value.type == CUDNN_TYPE_HANDLE) continue;  // means nothing in another process
    Json children = Json::array();
    for (const auto& child : value.descriptors) children.push_back(to_json(*child));
    values.push_back({{"name", static_cast<int>(name)},
                      {"type", static_cast<int>(value.type)},
                      {"count", value.count},
                      {"bytes", as_numbers(value.bytes)},
                      {"children", children}});
  }
  return {{"type", static_cast<int>(descriptor.type)}, {"values", values}};
}

DescriptorPtr from_json(const Json& json) {
  auto descriptor = std::make_shared<Descriptor>();
  descriptor->type = static_cast<cudnnBackendDescriptorType_t>(json.at("type").get<int>());
  descriptor->finalized = true;
  for (const Json& entry : json.at("values")) {
    const auto name = static_cast<cudnnBackendAttributeName_t>(entry.at("name").get<int>());
    Value& value = descriptor->values[name];
    value.type = static_cast<cudnnBackendAttributeType_t>(entry.at("type").get<int>());
    value.count = entry.at("count").get<std::int64_t>();
    value.bytes = as_bytes(entry.at("bytes").get<std::vector<int>>());
    for (const Json& child : entry.at("children")) value.descriptors.push_back(from_json(child));
  }
  return descriptor;
}

}  // namespace

std::string plan_to_json(const Descriptor& engine_config) { return to_json(engine_config).dump(); }

DescriptorPtr engine_config_from_json(const std::string& text) {
  try {
    return from_json(Json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    throw Refusal(CUDNN_STATUS_BAD_PARAM,
                  std::string("a plan's JSON cannot be read: ") + error.what());
  }
}

}  // namespace rueda::standin
