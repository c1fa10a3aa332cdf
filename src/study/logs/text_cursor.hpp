#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>

namespace rueda {

/// Reads a line from left to right. What does not fit is left where it stands.
class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : rest_(text) {}

  std::string_view rest() const noexcept { return rest_; }
  bool done() const noexcept { return rest_.empty(); }

  bool take(std::string_view word) noexcept {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  void skip(std::string_view any_of) noexcept {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(any_of), rest_.size()));
  }

  /// Everything before the first of these characters.
  std::string_view take_until(std::string_view any_of) noexcept {
    const std::string_view taken = rest_.substr(0, rest_.find_first_of(any_of));
    rest_.remove_prefix(taken.size());
    return taken;
  }

  /// A whole number below 10^9.
  std::optional<std::size_t> number() noexcept {
    constexpr std::size_t kMost = 1'000'000'000;
    std::size_t value = 0;
    const auto read = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (read.ec != std::errc() || value >= kMost) return {};
    rest_.remove_prefix(static_cast<std::size_t>(read.ptr - rest_.data()));
    return value;
  }

 private:
  std::string_view rest_;
};

}  // namespace rueda
