#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json/json_view.hpp"
#include "base/text.hpp"

namespace rueda {

// A record is written, read and checked by one list, a std::tuple of its
// fields. What a record holds may be a record too: `fields_of` gives the list of
// a type that has only one.

/// A name in JSON and what it holds: a member of a record, or a function of the
/// record. One that returns no reference is only written.
template <typename Value>
struct Field {
  const char* name;
  Value value;
};
template <typename Value>
Field(const char*, Value) -> Field<Value>;

/// A number that may be NaN, which is null in JSON, and missing in files of older programs.
template <typename Value>
struct NanField {
  const char* name;
  Value value;
};
template <typename Value>
NanField(const char*, Value) -> NanField<Value>;

/// A whole number in a double, written as one; null where it is NaN.
template <typename Value>
struct WholeField {
  const char* name;
  Value value;
};
template <typename Value>
WholeField(const char*, Value) -> WholeField<Value>;

/// What is missing or null in files of older programs: the record keeps its value then.
template <typename Value>
struct IfAny {
  const char* name;
  Value value;
};
template <typename Value>
IfAny(const char*, Value) -> IfAny<Value>;

/// A text that people are shown, from a file of any origin (JsonView::text).
template <typename Value>
struct ShownField {
  const char* name;
  Value value;
};
template <typename Value>
ShownField(const char*, Value) -> ShownField<Value>;

/// The same of what may be missing: a text, or names and texts.
template <typename Value>
struct ShownIfAny {
  const char* name;
  Value value;
};
template <typename Value>
ShownIfAny(const char*, Value) -> ShownIfAny<Value>;

/// An object of its own in JSON that holds fields of the same record.
template <typename Fields>
struct GroupField {
  const char* name;
  Fields fields;
};
template <typename Fields>
GroupField(const char*, Fields) -> GroupField<Fields>;

/// A member that is written by this list rather than by `fields_of`. Like
/// IfAny, it may be missing.
template <typename Value, typename Fields>
struct PartField {
  const char* name;
  Value value;
  Fields fields;
};
template <typename Value, typename Fields>
PartField(const char*, Value, Fields) -> PartField<Value, Fields>;

/// A member of a member.
template <typename Record, typename Part, typename Owner, typename Value>
auto in(Part Record::*part, Value Owner::*member) {
  return [=](auto& record) -> auto& { return record.*part.*member; };
}

/// A member of a member of a member.
template <typename Record, typename Part, typename Inner, typename Value>
auto in(Part Record::*part, Inner Part::*inner, Value Inner::*member) {
  return [=](auto& record) -> auto& { return record.*part.*inner.*member; };
}

template <typename Record>
concept HasFields = requires(const Record& record) {
  fields_of(record);
};
template <typename Enum>
concept HasWords = std::is_enum_v<Enum> && requires(Enum value) {
  words_of(value);
};

template <typename Record, typename... Fields>
nlohmann::ordered_json fields_json(const Record& record, const std::tuple<Fields...>& fields);

// What a value is in JSON. A record is an object, pairs of names and values are
// one too, and an enum is its word.

template <typename Value>
nlohmann::ordered_json json_of(const std::optional<Value>& value);
template <typename Value>
nlohmann::ordered_json json_of(const std::vector<Value>& values);
template <typename Value>
nlohmann::ordered_json json_of(const std::vector<std::pair<std::string, Value>>& pairs);

template <typename Value>
nlohmann::ordered_json json_of(const Value& value) {
  return value;
}
template <HasFields Record>
nlohmann::ordered_json json_of(const Record& record) {
  return fields_json(record, fields_of(record));
}
template <HasWords Enum>
nlohmann::ordered_json json_of(const Enum& value) {
  return to_string(value);
}
/// Null where there is none.
template <typename Value>
nlohmann::ordered_json json_of(const std::optional<Value>& value) {
  if (!value) return nullptr;
  return json_of(*value);
}
template <typename Value>
nlohmann::ordered_json json_of(const std::vector<Value>& values) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& value : values) list.push_back(json_of(value));
  return list;
}
template <typename Value>
nlohmann::ordered_json json_of(const std::vector<std::pair<std::string, Value>>& pairs) {
  auto object = nlohmann::ordered_json::object();
  for (const auto& [name, value] : pairs) object[name] = json_of(value);
  return object;
}

/// The text `member`, null where it is empty.
template <typename Record>
auto text_or_null(std::string Record::*member) {
  return [member](const Record& record) -> std::optional<std::string> {
    const std::string& text = record.*member;
    if (text.empty()) return {};
    return text;
  };
}

template <typename Record, typename Field>
nlohmann::ordered_json field_json(const Record& record, const Field& field) {
  return json_of(std::invoke(field.value, record));
}
template <typename Record, typename Value>
nlohmann::ordered_json field_json(const Record& record, const WholeField<Value>& field) {
  const double value = std::invoke(field.value, record);
  if (std::isnan(value)) return nullptr;
  return std::uint64_t(value);
}
template <typename Record, typename Fields>
nlohmann::ordered_json field_json(const Record& record, const GroupField<Fields>& group) {
  return fields_json(record, group.fields);
}
template <typename Record, typename Value, typename Fields>
nlohmann::ordered_json field_json(const Record& record, const PartField<Value, Fields>& part) {
  return fields_json(std::invoke(part.value, record), part.fields);
}

/// A member that is not read back.
template <typename Record, typename Value>
auto only_written(Value Record::*member) {
  return [member](const Record& record) -> Value { return record.*member; };
}

/// Adds the fields of `record` to `j`, in the order of the list.
template <typename Record, typename... Fields>
void put_fields(nlohmann::ordered_json& j, const Record& record,
                const std::tuple<Fields...>& fields) {
  const auto put = [&](const auto& field) { j[field.name] = field_json(record, field); };
  std::apply([&](const auto&... field) { (put(field), ...); }, fields);
}

template <typename Record, typename... Fields>
nlohmann::ordered_json fields_json(const Record& record, const std::tuple<Fields...>& fields) {
  nlohmann::ordered_json j;
  put_fields(j, record, fields);
  return j;
}

/// A list of records.
template <typename Records, typename... Fields>
nlohmann::ordered_json list_json(const Records& records, const std::tuple<Fields...>& fields) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& record : records) list.push_back(fields_json(record, fields));
  return list;
}

template <typename Record, typename... Fields>
void read_fields(const JsonView& j, Record& record, const std::tuple<Fields...>& fields);

inline void read_value(const JsonView& j, bool& value) { value = j.flag(); }
inline void read_value(const JsonView& j, double& value) { value = j.number(); }
inline void read_value(const JsonView& j, std::string& value) { value = j.raw_text(); }
template <std::integral Number>
void read_value(const JsonView& j, Number& value) {
  using Limits = std::numeric_limits<Number>;
  value = Number(j.whole(double(Limits::min()), double(Limits::max())));
}
template <HasWords Enum>
void read_value(const JsonView& j, Enum& value) {
  const auto words = words_of(value);
  const auto word = j.raw_text();
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) j.refuse("is none of its words");
  value = Enum(found - words.begin());
}
template <HasFields Record>
void read_value(const JsonView& j, Record& record) {
  read_fields(j, record, fields_of(record));
}
template <typename Value>
void read_value(const JsonView& j, std::optional<Value>& value) {
  value.reset();
  if (!j.is_null()) read_value(j, value.emplace());
}
template <typename Value>
void read_value(const JsonView& j, std::vector<Value>& values) {
  values.clear();
  for (const JsonView& one : j.elements()) read_value(one, values.emplace_back());
}
template <typename Value>
void read_value(const JsonView& j, std::vector<std::pair<std::string, Value>>& pairs) {
  pairs.clear();
  for (const auto& [name, value] : j.members())
    read_value(value, pairs.emplace_back(name, Value()).second);
}
template <typename Value>
void read_value(const JsonView& j, std::map<std::string, Value>& values) {
  values.clear();
  for (const auto& [name, value] : j.members()) read_value(value, values[name]);
}
template <typename Value, std::size_t size>
void read_value(const JsonView& j, std::array<Value, size>& values) {
  const std::vector<JsonView> elements = j.elements();
  if (elements.size() != size) j.refuse("does not have " + std::to_string(size) + " elements");
  for (std::size_t i = 0; i < size; ++i) read_value(elements[i], values[i]);
}

inline void read_shown(const JsonView& j, std::string& text) { text = j.text(); }
inline void read_shown(const JsonView& j, std::optional<std::string>& text) { text = j.text(); }
inline void read_shown(const JsonView& j, std::vector<std::pair<std::string, std::string>>& texts) {
  texts.clear();
  for (const auto& [name, value] : j.members()) texts.emplace_back(name, value.text());
}

/// Whether reading can change it.
template <typename Record, typename Value>
inline constexpr bool is_read = std::is_reference_v<std::invoke_result_t<const Value&, Record&>>;

template <typename Record, typename Value>
void read_field(const JsonView& j, Record& record, const Field<Value>& field) {
  if constexpr (is_read<Record, Value>)
    read_value(j.at(field.name), std::invoke(field.value, record));
}
template <typename Record, typename Value>
void read_field(const JsonView& j, Record& record, const IfAny<Value>& field) {
  if (j.has(field.name)) read_value(j.at(field.name), std::invoke(field.value, record));
}
template <typename Record, typename Value>
void read_field(const JsonView& j, Record& record, const ShownField<Value>& field) {
  read_shown(j.at(field.name), std::invoke(field.value, record));
}
template <typename Record, typename Value>
void read_field(const JsonView& j, Record& record, const ShownIfAny<Value>& field) {
  if (j.has(field.name)) read_shown(j.at(field.name), std::invoke(field.value, record));
}
template <typename Record, typename Value>
void read_field(const JsonView& j, Record& record, const WholeField<Value>& field) {
  std::invoke(field.value, record) = NAN;
  if (j.has(field.name)) std::invoke(field.value, record) = double(j.count(field.name));
}
template <typename Record, typename Fields>
void read_field(const JsonView& j, Record& record, const GroupField<Fields>& group) {
  read_fields(j.at(group.name), record, group.fields);
}
template <typename Record, typename Value, typename Fields>
void read_field(const JsonView& j, Record& record, const PartField<Value, Fields>& part) {
  if (j.has(part.name)) read_fields(j.at(part.name), std::invoke(part.value, record), part.fields);
}
template <typename Record, typename Value>
void read_field(const JsonView& j, Record& record, const NanField<Value>& field) {
  std::invoke(field.value, record) = j.number_if_any(field.name);
}

/// Fills the fields of `record`. Throws InputError naming a field that is
/// missing or of another kind.
template <typename Record, typename... Fields>
void read_fields(const JsonView& j, Record& record, const std::tuple<Fields...>& fields) {
  std::apply([&](const auto&... field) { (read_field(j, record, field), ...); }, fields);
}

/// A record of a type that has `fields_of`, or several of them.
template <typename Value>
Value value_from(const JsonView& j) {
  Value value{};
  read_value(j, value);
  return value;
}

/// The same from the text of its JSON.
template <typename Value>
Value from_text(std::string_view text) {
  const nlohmann::ordered_json json = parse_json(text);
  return value_from<Value>(JsonView(json));
}

}  // namespace rueda
