#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/bounded_json.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "base/text_input.hpp"
#include "study/table.hpp"

namespace rueda {

inline constexpr std::size_t kLongestText = 10'000;
inline constexpr double kMostCount = 9e15;  // whole numbers beyond are not exact in a double

/// C0, DEL and, in UTF-8, C1: what a terminal may take for a command. Line ends and tabs are none.
inline bool has_control(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) return true;
    const auto next = static_cast<unsigned char>(text[i + 1]);
    if (c == 0xc2 && i + 1 < text.size() && next < 0xa0) return true;
  }
  return false;
}

/// A value in a JSON file, which knows its path there, so that an error can
/// name it. Every function throws InputError naming file, place and remedy if
/// the value is not as asked.
class JsonView {
 public:
  using Json = nlohmann::ordered_json;

  /// Both have to outlive the view.
  JsonView(const Json& value, const InputFile& file) : value_(&value), file_(&file) {}

  /// There, and not null.
  bool has(const std::string& name) const {
    return value_->is_object() && value_->contains(name) && !(*value_)[name].is_null();
  }
  JsonView at(const std::string& name) const {
    if (!value_->is_object()) refuse("is not an object");
    const std::string place = (place_.empty() ? "" : place_ + ".") + printable(name);
    if (!value_->contains(name)) JsonView(*value_, *this, place).refuse("is missing");
    return {(*value_)[name], *this, place};
  }
  /// The same, or a view of null where it is missing.
  JsonView part(const std::string& name) const {
    static const Json kNull;
    return has(name) ? at(name) : JsonView(kNull, *this, place_);
  }
  /// Elements of an array, or an empty one where the field is missing or null.
  std::vector<JsonView> items(const std::string& name) const {
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
  /// Fields of an object, in order; none where it is missing or null.
  std::vector<std::pair<std::string, JsonView>> fields(const std::string& name) const {
    std::vector<std::pair<std::string, JsonView>> fields;
    if (!has(name)) return fields;
    const JsonView object = at(name);
    if (!object.value_->is_object()) object.refuse("is not an object");
    for (const auto& [key, value] : object.value_->items())
      fields.emplace_back(key, JsonView(value, object, object.place_ + "." + printable(key)));
    return fields;
  }

  double number() const {
    if (!value_->is_number()) refuse("is not a number");
    return value_->get<double>();
  }
  /// A whole number.
  std::size_t count(std::size_t least = 0) const {
    const double value = number();
    if (!(value >= double(least)) || value > kMostCount || value != std::floor(value))
      refuse(fmt::format("is not a whole number from {}", least));
    return std::size_t(value);
  }
  std::size_t positive() const { return count(1); }
  /// At most kLongestText bytes, without control characters but line ends and tabs.
  std::string text() const {
    if (!value_->is_string()) refuse("is not a text");
    std::string text = value_->get<std::string>();
    if (has_control(text)) refuse("has control characters");
    if (text.size() > kLongestText) refuse(fmt::format("is longer than {} bytes", kLongestText));
    return text;
  }
  bool flag() const {
    if (!value_->is_boolean()) refuse("is neither true nor false");
    return value_->get<bool>();
  }
  double number(const std::string& name) const { return at(name).number(); }
  std::size_t count(const std::string& name) const { return at(name).count(); }
  std::size_t positive(const std::string& name) const { return at(name).positive(); }
  std::string text(const std::string& name) const { return at(name).text(); }
  /// NaN where it is missing or null.
  double number_if_any(const std::string& name) const { return has(name) ? number(name) : NAN; }
  /// Empty where it is missing or null.
  std::string text_if_any(const std::string& name) const { return has(name) ? text(name) : ""; }
  const Json& json() const { return *value_; }

  [[noreturn]] void refuse(const std::string& why) const {
    file_->refuse((place_.empty() ? "it" : place_) + " " + why);
  }

 private:
  JsonView(const Json& value, const JsonView& above, const std::string& place)
      : value_(&value), file_(above.file_), place_(place) {}

  const Json* value_;
  const InputFile* file_;
  std::string place_;
};

/// A number, a text, or null.
inline JsonView::Json json_of(const Cell& cell) {
  if (cell.is_number()) return cell.number();
  return cell.text().empty() ? JsonView::Json() : JsonView::Json(cell.text());
}

/// An object for each row, by the keys of the columns.
inline JsonView::Json rows_json(const Table& table) {
  auto rows = JsonView::Json::array();
  for (const auto& row : table.rows) {
    auto one = JsonView::Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) one[table.columns[i].key] = json_of(row[i]);
    rows.push_back(one);
  }
  return rows;
}

/// Parses a JSON file within the usual JsonLimits. Throws InputError if it is
/// no regular file, larger than `most_bytes`, no JSON (then with the byte at
/// which it ends to be) or beyond a limit.
inline nlohmann::ordered_json read_json(const InputFile& file,
                                        std::size_t most_bytes = kMostJsonBytes) {
  return parse_json(read_text(file, most_bytes), file);
}

}  // namespace rueda
