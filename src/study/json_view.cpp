#include "json_view.hpp"

#include "rueda/core/text.hpp"

namespace rueda {
namespace {

constexpr double kMostCount = 9e15;  // whole numbers beyond are not exact in a double

/// C0, DEL and, in UTF-8, C1: what a terminal may take for a command. Line ends and tabs are none.
bool has_control(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) return true;
    const bool c1 =
        c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (c1) return true;
  }
  return false;
}

}  // namespace

void JsonView::refuse(const std::string& why) const {
  file_->refuse((place_.empty() ? "it" : place_) + " " + why);
}

bool JsonView::has(const std::string& name) const {
  return value_->is_object() && value_->contains(name) && !(*value_)[name].is_null();
}

JsonView JsonView::at(const std::string& name) const {
  if (!value_->is_object()) refuse("is not an object");
  const std::string place = (place_.empty() ? "" : place_ + ".") + printable(name);
  if (!value_->contains(name)) JsonView(*value_, *this, place).refuse("is missing");
  return {(*value_)[name], *this, place};
}

JsonView JsonView::part(const std::string& name) const {
  static const Json kNull;
  return has(name) ? at(name) : JsonView(kNull, *this, place_);
}

std::vector<JsonView> JsonView::items(const std::string& name) const {
  std::vector<JsonView> items;
  if (!has(name)) return items;
  const JsonView list = at(name);
  if (!list.value_->is_array()) list.refuse("is not a list");
  for (const Json& value : *list.value_) {
    const std::string place = list.place_ + "[" + std::to_string(items.size()) + "]";
    items.push_back(JsonView(value, list, place));
  }
  return items;
}

std::vector<std::pair<std::string, JsonView>> JsonView::fields(const std::string& name) const {
  std::vector<std::pair<std::string, JsonView>> fields;
  if (!has(name)) return fields;
  const JsonView object = at(name);
  if (!object.value_->is_object()) object.refuse("is not an object");
  for (const auto& [key, value] : object.value_->items())
    fields.emplace_back(key, JsonView(value, object, object.place_ + "." + printable(key)));
  return fields;
}

double JsonView::number() const {
  if (!value_->is_number()) refuse("is not a number");
  return value_->get<double>();
}

std::size_t JsonView::count() const {
  const double value = number();
  if (!(value >= 0) || value > kMostCount || value != std::floor(value))
    refuse("is not a whole number from 0");
  return std::size_t(value);
}

std::size_t JsonView::positive() const {
  const std::size_t value = count();
  if (value == 0) refuse("is 0");
  return value;
}

std::string JsonView::text() const {
  if (!value_->is_string()) refuse("is not a text");
  std::string text = value_->get<std::string>();
  if (has_control(text)) refuse("has control characters");
  return text;
}

bool JsonView::flag() const {
  if (!value_->is_boolean()) refuse("is neither true nor false");
  return value_->get<bool>();
}

JsonView::Json json_of(const Cell& cell) {
  if (cell.is_number()) return cell.number();
  return cell.text().empty() ? JsonView::Json() : JsonView::Json(cell.text());
}

}  // namespace rueda
