#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/bounded_json.hpp"
#include "rueda/core/files.hpp"
#include "rueda/study/table.hpp"

namespace rueda {

/// A value in a JSON file, which knows its path there, so that an error can
/// name it. Every function throws InputError naming file, place and remedy if
/// the value is not as asked.
class JsonView {
 public:
  using Json = nlohmann::ordered_json;

  /// Both have to outlive the view.
  JsonView(const Json& value, const InputFile& file) : value_(&value), file_(&file) {}

  bool has(const std::string& name) const;  ///< there, and not null
  JsonView at(const std::string& name) const;
  /// The same, or a view of null where it is missing.
  JsonView part(const std::string& name) const;
  /// Elements of an array, or an empty one where the field is missing or null.
  std::vector<JsonView> items(const std::string& name) const;
  /// Fields of an object, in order; none where it is missing or null.
  std::vector<std::pair<std::string, JsonView>> fields(const std::string& name) const;

  double number() const;
  std::size_t count() const;     ///< a whole number from 0
  std::size_t positive() const;  ///< a whole number from 1
  std::string text() const;      ///< without control characters but line ends and tabs
  bool flag() const;
  double number(const std::string& name) const { return at(name).number(); }
  std::size_t count(const std::string& name) const { return at(name).count(); }
  std::size_t positive(const std::string& name) const { return at(name).positive(); }
  std::string text(const std::string& name) const { return at(name).text(); }
  /// NaN where it is missing or null.
  double number_if_any(const std::string& name) const {
    return has(name) ? number(name) : std::numeric_limits<double>::quiet_NaN();
  }
  /// Empty where it is missing or null.
  std::string text_if_any(const std::string& name) const { return has(name) ? text(name) : ""; }
  const Json& json() const { return *value_; }

  [[noreturn]] void refuse(const std::string& why) const;

 private:
  JsonView(const Json& value, const JsonView& above, const std::string& place)
      : value_(&value), file_(above.file_), place_(place) {}

  const Json* value_;
  const InputFile* file_;
  std::string place_;
};

/// A number, a text, or null.
JsonView::Json json_of(const Cell& cell);

/// Parses a JSON file within the usual JsonLimits. Throws InputError if it is
/// no regular file, larger than `most_bytes`, no JSON (then with the byte at
/// which it ends to be) or beyond a limit.
inline nlohmann::ordered_json read_json(const InputFile& file,
                                        std::size_t most_bytes = kMostJsonBytes) {
  return parse_json(read_whole(file, most_bytes), file);
}

}  // namespace rueda
