#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "base/json/bounded_json.hpp"

namespace rueda {

/// A value in a JSON text, which knows its place there, so that an error can
/// name it. Every function throws InputError if the value is not as asked: with
/// file, place and remedy, or the place alone where the view knows no file.
class JsonView {
 public:
  using Json = nlohmann::ordered_json;

  /// Both have to outlive the view.
  JsonView(const Json& value, const InputFile& file) : value_(&value), file_(&file) {}
  /// A view of a text whose file the caller names.
  explicit JsonView(const Json& value) : value_(&value) {}

  /// There, and not null.
  bool has(const std::string& name) const { return member(name) != nullptr; }
  JsonView at(const std::string& name) const;
  /// The same, or a view of null where it is missing.
  JsonView part(const std::string& name) const;
  /// The elements of an array.
  std::vector<JsonView> elements() const;
  /// The members of an object, in order.
  std::vector<std::pair<std::string, JsonView>> members() const;
  /// Elements of the array `name`; none where it is missing or null.
  std::vector<JsonView> items(const std::string& name) const;
  /// Fields of the object `name`, in order; none where it is missing or null.
  std::vector<std::pair<std::string, JsonView>> fields(const std::string& name) const;

  double number() const;
  /// A whole number that a double holds exactly, within these bounds.
  double whole(double least, double most) const;
  std::size_t count(std::size_t least = 0) const;
  std::size_t positive() const { return count(1); }
  /// For people: at most 10,000 bytes, without control characters but line ends and tabs.
  std::string text() const;
  /// Whatever it holds.
  std::string raw_text() const;
  bool flag() const;
  bool is_null() const { return value_->is_null(); }

  double number(const std::string& name) const { return at(name).number(); }
  std::size_t count(const std::string& name) const { return at(name).count(); }
  std::size_t positive(const std::string& name) const { return at(name).positive(); }
  std::string text(const std::string& name) const { return at(name).text(); }
  /// NaN where it is missing or null.
  double number_if_any(const std::string& name) const;
  const Json& json() const { return *value_; }

  /// Refuses another kind than that of the field `schema`: "it is no WHAT".
  void require_kind(const char* schema, const char* what) const;
  /// Refuses another number in `field` than `version`, with the remedy for a file
  /// that another version of the program wrote.
  void require_version(const char* field, std::size_t version) const;
  /// The kind, and the version in `schema_version`.
  void require_schema(const char* schema, std::size_t version, const char* what) const {
    require_kind(schema, what);
    require_version("schema_version", version);
  }

  [[noreturn]] void refuse(const std::string& why) const;

 private:
  JsonView(const Json& value, const JsonView& above, std::string place)
      : value_(&value), file_(above.file_), place_(std::move(place)) {}

  /// Null where there is none, or it is null.
  const Json* member(const std::string& name) const;
  std::string place_of(const std::string& name) const;

  const Json* value_;
  const InputFile* file_ = nullptr;
  std::string place_;
};

/// Parses a JSON file within the usual JsonLimits. Throws InputError if it is
/// no regular file, larger than `most_bytes`, no JSON (then with the byte at
/// which it ends to be) or beyond a limit.
nlohmann::ordered_json read_json(const InputFile& file, std::size_t most_bytes = kMostJsonBytes);

}  // namespace rueda
