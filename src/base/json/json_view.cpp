#include "base/json/json_view.hpp"

#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/text_input.hpp"

namespace rueda {
namespace {

constexpr std::size_t kLongestText = 10'000;
constexpr std::int64_t kMostExact = std::int64_t{1} << 53;  // whole numbers beyond lose digits

/// A whole number, written as one, that a double holds.
bool is_exact(const JsonView::Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>() <= std::uint64_t(kMostExact);
  return value.is_number_integer() && value.get<std::int64_t>() >= -kMostExact;
}

/// C0, DEL and, in UTF-8, C1: what a terminal may take for a command. Line ends and tabs are none.
bool has_control(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) return true;
    const auto next = static_cast<unsigned char>(text[i + 1]);
    if (c == 0xc2 && i + 1 < text.size() && next < 0xa0) return true;
  }
  return false;
}

}  // namespace

const JsonView::Json* JsonView::member(const std::string& name) const {
  if (!value_->is_object()) return nullptr;
  const auto found = value_->find(name);
  if (found == value_->end() || found->is_null()) return nullptr;
  return &*found;
}

std::string JsonView::place_of(const std::string& name) const {
  if (place_.empty()) return printable(name);
  return place_ + "." + printable(name);
}

JsonView JsonView::at(const std::string& name) const {
  if (!value_->is_object()) refuse("is not an object");
  const auto found = value_->find(name);
  if (found == value_->end()) JsonView(*value_, *this, place_of(name)).refuse("is missing");
  return {*found, *this, place_of(name)};
}

JsonView JsonView::part(const std::string& name) const {
  static const Json kNull;
  if (has(name)) return at(name);
  return {kNull, *this, place_};
}

std::vector<JsonView> JsonView::elements() const {
  if (!value_->is_array()) refuse("is not a list");
  std::vector<JsonView> elements;
  elements.reserve(value_->size());
  for (const Json& value : *value_) {
    const std::string place = place_ + "[" + std::to_string(elements.size()) + "]";
    elements.push_back(JsonView(value, *this, place));
  }
  return elements;
}

std::vector<std::pair<std::string, JsonView>> JsonView::members() const {
  if (!value_->is_object()) refuse("is not an object");
  std::vector<std::pair<std::string, JsonView>> members;
  for (const auto& [key, value] : value_->items())
    members.emplace_back(key, JsonView(value, *this, place_of(key)));
  return members;
}

std::vector<JsonView> JsonView::items(const std::string& name) const {
  if (!has(name)) return {};
  return at(name).elements();
}

std::vector<std::pair<std::string, JsonView>> JsonView::fields(const std::string& name) const {
  if (!has(name)) return {};
  return at(name).members();
}

double JsonView::number() const {
  if (!value_->is_number()) refuse("is not a number");
  return value_->get<double>();
}

double JsonView::whole(double least, double most) const {
  if (is_exact(*value_) && number() >= least && number() <= most) return number();
  refuse(fmt::format("is not a whole number from {:.0f}", least));
}

std::size_t JsonView::count(std::size_t least) const {
  return std::size_t(whole(double(least), double(kMostExact)));
}

std::string JsonView::text() const {
  std::string text = raw_text();
  if (has_control(text)) refuse("has control characters");
  if (text.size() > kLongestText) refuse(fmt::format("is longer than {} bytes", kLongestText));
  return text;
}

std::string JsonView::raw_text() const {
  if (!value_->is_string()) refuse("is not a text");
  return value_->get<std::string>();
}

bool JsonView::flag() const {
  if (!value_->is_boolean()) refuse("is neither true nor false");
  return value_->get<bool>();
}

double JsonView::number_if_any(const std::string& name) const {
  if (!has(name)) return NAN;
  return number(name);
}

void JsonView::require_kind(const char* schema, const char* what) const {
  if (!has("schema") || at("schema").json() != schema) refuse(std::string("is no ") + what);
}

void JsonView::require_version(const char* field, std::size_t version) const {
  const std::size_t found = count(field);
  if (found == version) return;
  InputFile other{{}, "it", ""};
  if (file_ != nullptr) other = *file_;
  other.remedy = "read it with the rueda that wrote it";
  other.refuse(fmt::format("its {} is {}, and this rueda reads {}", field, found, version));
}

void JsonView::refuse(const std::string& why) const {
  const std::string fault = (place_.empty() ? "it" : place_) + " " + why;
  if (file_ == nullptr) throw InputError(fault);
  file_->refuse(fault);
}

nlohmann::ordered_json read_json(const InputFile& file, std::size_t most_bytes) {
  return parse_json(read_text(file, most_bytes), file);
}

}  // namespace rueda
