#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/files.hpp"

namespace rueda {

/// Bytes of a run.json, and of other files that the program writes about runs:
/// epochs of hundreds of ranks.
inline constexpr std::size_t kMostJsonBytes = 256'000'000;

/// Bytes of a checkpoint's history, whose epochs are JSON texts of their own:
/// more epochs than a user trains, on a thousand ranks.
inline constexpr std::size_t kMostHistoryBytes = 1'000'000'000;

/// The limits of a JSON text. A document takes about 100 bytes of memory a
/// value. Copying and writing it are recursive. An ordered object finds a key
/// in time proportional to the number of keys.
struct JsonLimits {
  std::size_t most_values = 10'000'000;  ///< keys count as well
  std::size_t most_depth = 32;
  std::size_t most_keys = 256;  ///< of one object
  bool unique_keys = false;     ///< no object has a key twice; else the last one counts
};

/// Parses `text`, read from `file`, after it was checked to be JSON within the
/// limits. Throws InputError: no JSON (with the byte), a number beyond a
/// double, or more than a limit allows.
nlohmann::ordered_json parse_json(std::string_view text, const InputFile& file,
                                  const JsonLimits& limits = {});

/// Parses a text within the usual limits whose file the caller names: the message
/// is the fault alone.
nlohmann::ordered_json parse_json(std::string_view text);

/// Why `parse_json` would refuse it; empty if it would not. Makes no document.
std::string fault_of_json(std::string_view text, const JsonLimits& limits = {});

/// On one line, or indented. Bytes that are not UTF-8 become U+FFFD.
template <typename Json = nlohmann::ordered_json>
std::string text_of(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', true, Json::error_handler_t::replace);
}

}  // namespace rueda
