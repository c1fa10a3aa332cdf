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
// fields. A `Field` is read and written, a `Derived` is only written. What a
// record holds may be a record too: `fields_of` gives the list of a type that
// has only one.

// How a field's value is in JSON, if not as its type is (json_of, read_value).

/// A number that may be NaN, which is null in JSON.
struct OrNan {};
/// A whole number in a double that may be NaN; it is written as a whole number.
struct WholeOrNan {};
/// A text that people are shown, from a file of any origin (JsonView::text); or names and texts.
struct Shown {};
struct AsItsType {};

inline constexpr OrNan or_nan;
inline constexpr WholeOrNan whole_or_nan;
inline constexpr Shown shown;

/// A field that files of older programs may lack, or have as null: the record keeps its value then.
/// One that may be NaN becomes NaN, without further words.
struct IfAny {};
inline constexpr IfAny if_any;

/// A name in JSON and the member that it fills: a pointer to it, or a function
/// of the record that returns a reference (`in`, for a member of a member).
/// `Form`: one of the above, or the list of fields of a record that has several.
template <typename Value, typename Form = AsItsType>
struct Field {
  static_assert(!std::is_member_function_pointer_v<Value>, "what is no member is Derived");
  constexpr Field(const char* field, Value member) : name(field), value(member) {}
  constexpr Field(const char* field, Value member, IfAny)
      : name(field), value(member), may_miss(true) {}
  constexpr Field(const char* field, Value member, Form how)
      : name(field), value(member), form(how) {}
  constexpr Field(const char* field, Value member, Form how, IfAny)
      : name(field), value(member), form(how), may_miss(true) {}

  const char* name;
  Value value;
  Form form{};
  bool may_miss = false;
};
template <typename Value>
Field(const char*, Value) -> Field<Value>;
template <typename Value>
Field(const char*, Value, IfAny) -> Field<Value>;

/// A field that is only written, because it follows from members or nobody reads
/// it back: a member, or a function of the record. `Form`: as above.
template <typename Value, typename Form = AsItsType>
struct Derived {
  constexpr Derived(const char* field, Value what) : name(field), value(what) {}
  constexpr Derived(const char* field, Value what, Form how)
      : name(field), value(what), form(how) {}

  const char* name;
  Value value;
  Form form{};
};
template <typename Value>
Derived(const char*, Value) -> Derived<Value>;

/// The record itself, for an object of its own in JSON that holds fields of the same record.
inline constexpr auto same_record = [](auto& record) -> auto& { return record; };

/// A member of a member, of any depth.
template <typename Outer, typename Inner>
constexpr auto in(Outer outer, Inner inner) {
  return [=](auto& record) -> auto& { return std::invoke(inner, std::invoke(outer, record)); };
}
template <typename Outer, typename Inner, typename... More>
constexpr auto in(Outer outer, Inner inner, More... more) {
  return in(in(outer, inner), more...);
}

/// An element of a std::array.
template <std::size_t index>
inline constexpr auto element = [](auto& values) -> auto& {
  return values[index];
};

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

// A value is in JSON as its type is. A record is an object, pairs of names and values are
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

template <typename Value>
nlohmann::ordered_json json_in(AsItsType, const Value& value) {
  return json_of(value);
}
template <typename Value>
nlohmann::ordered_json json_in(Shown, const Value& value) {
  return json_of(value);
}
inline nlohmann::ordered_json json_in(OrNan, double value) { return value; }
inline nlohmann::ordered_json json_in(WholeOrNan, double value) {
  if (std::isnan(value)) return nullptr;
  return std::uint64_t(value);
}
template <typename Record, typename... Fields>
nlohmann::ordered_json json_in(const std::tuple<Fields...>& fields, const Record& record) {
  return fields_json(record, fields);
}

/// Adds the fields of `record` to `j`, in the order of the list.
template <typename Record, typename... Fields>
void put_fields(nlohmann::ordered_json& j, const Record& record,
                const std::tuple<Fields...>& fields) {
  const auto put = [&](const auto& field) {
    j[field.name] = json_in(field.form, std::invoke(field.value, record));
  };
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

inline void read_in(Shown, const JsonView& j, std::string& text) { text = j.text(); }
inline void read_in(Shown, const JsonView& j, std::optional<std::string>& text) { text = j.text(); }
inline void read_in(Shown, const JsonView& j,
                    std::vector<std::pair<std::string, std::string>>& texts) {
  texts.clear();
  for (const auto& [name, value] : j.members()) texts.emplace_back(name, value.text());
}
template <typename Value>
void read_in(AsItsType, const JsonView& j, Value& value) {
  read_value(j, value);
}
inline void read_in(OrNan, const JsonView& j, double& value) { value = j.number(); }
inline void read_in(WholeOrNan, const JsonView& j, double& value) { value = double(j.count()); }
template <typename Record, typename... Fields>
void read_in(const std::tuple<Fields...>& fields, const JsonView& j, Record& record) {
  read_fields(j, record, fields);
}

template <typename Form>
inline constexpr bool may_be_nan = std::is_same_v<Form, OrNan> || std::is_same_v<Form, WholeOrNan>;

template <typename Record, typename Value, typename Form>
void read_field(const JsonView& j, Record& record, const Field<Value, Form>& field) {
  static_assert(std::is_reference_v<std::invoke_result_t<const Value&, Record&>>,
                "what is no member is Derived");
  auto& value = std::invoke(field.value, record);
  if constexpr (may_be_nan<Form>) value = NAN;
  const bool may_miss = field.may_miss || may_be_nan<Form>;
  if (may_miss && !j.has(field.name)) return;
  read_in(field.form, j.at(field.name), value);
}
template <typename Record, typename Value, typename Form>
void read_field(const JsonView&, Record&, const Derived<Value, Form>&) {}

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

/// A record, or several of them, from the text of its JSON.
template <typename Value>
Value from_text(std::string_view text) {
  const nlohmann::ordered_json json = parse_json(text);
  return value_from<Value>(JsonView(json));
}

}  // namespace rueda
