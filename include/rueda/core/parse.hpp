#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace rueda {

/// Takes a number from the front of `text`; nothing, and `text` as it is, if it does not begin so.
template <typename Number = std::size_t>
std::optional<Number> take_number(std::string_view& text) {
  Number number{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(std::size_t(rest - text.data()));
  return number;
}

/// Takes `word` from the front of `text`; false if it does not begin so.
inline bool take(std::string_view& text, std::string_view word) noexcept {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

}  // namespace rueda
