#pragma once

#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>

#include "base/bounded_json.hpp"

namespace rueda {

// A record is written and read by one list, a std::tuple of its fields.

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

/// A member of a member.
template <typename Record, typename Part, typename Value>
auto in(Part Record::*part, Value Part::*member) {
  return [=](auto& record) -> auto& { return record.*part.*member; };
}

/// A member of a member of a member.
template <typename Record, typename Part, typename Inner, typename Value>
auto in(Part Record::*part, Inner Part::*inner, Value Inner::*member) {
  return [=](auto& record) -> auto& { return record.*part.*inner.*member; };
}

template <typename Value>
nlohmann::ordered_json json_of(const Value& value) {
  return value;
}

/// Null where there is none.
template <typename Value>
nlohmann::ordered_json json_of(const std::optional<Value>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

/// The text `member`, null where it is empty.
template <typename Record>
auto text_or_null(std::string Record::*member) {
  return [member](const Record& record) {
    const std::string& text = record.*member;
    return text.empty() ? std::optional<std::string>() : text;
  };
}

/// Adds the fields of `record` to `j`, in the order of the list.
template <typename Record, typename... Fields>
void put_fields(nlohmann::ordered_json& j, const Record& record,
                const std::tuple<Fields...>& fields) {
  const auto put = [&](const auto& field) {
    j[field.name] = json_of(std::invoke(field.value, record));
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

inline void read_value(const nlohmann::ordered_json& j, const char* name, std::size_t& value) {
  value = whole_number(j, name);
}
template <typename Value>
void read_value(const nlohmann::ordered_json& j, const char* name, Value& value) {
  value = j.at(name).get<Value>();
}
template <typename Value>
void read_value(const nlohmann::ordered_json& j, const char* name, std::optional<Value>& value) {
  if (!j.at(name).is_null()) read_value(j, name, value.emplace());
}

template <typename Record, typename Value>
void read_field(const nlohmann::ordered_json& j, Record& record, const Field<Value>& field) {
  if constexpr (std::is_reference_v<std::invoke_result_t<const Value&, Record&>>)
    read_value(j, field.name, std::invoke(field.value, record));
}
template <typename Record, typename Value>
void read_field(const nlohmann::ordered_json& j, Record& record, const NanField<Value>& field) {
  std::invoke(field.value, record) = number_or_nan(j, field.name);
}

/// Fills the fields of `record`. Throws InputError or nlohmann's exception
/// naming a field that is missing or of another kind.
template <typename Record, typename... Fields>
void read_fields(const nlohmann::ordered_json& j, Record& record,
                 const std::tuple<Fields...>& fields) {
  std::apply([&](const auto&... field) { (read_field(j, record, field), ...); }, fields);
}

}  // namespace rueda
