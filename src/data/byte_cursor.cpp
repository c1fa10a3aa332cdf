#include "byte_cursor.hpp"

#include <utility>

#include <fmt/format.h>

#include "rueda/core/error.hpp"

namespace rueda {

void fail_at(const std::string& name, std::size_t offset, const std::string& reason) {
  throw InputError(
      fmt::format("{}: byte {}: {}; the file is damaged or not a CIFAR-10 file: download or make "
                  "it again",
                  name, offset, reason));
}

ByteCursor::ByteCursor(std::span<const std::uint8_t> bytes, std::string name)
    : bytes_(bytes), name_(std::move(name)) {}

std::uint8_t ByteCursor::byte() { return static_cast<std::uint8_t>(take(1).front()); }

std::uint64_t ByteCursor::little_endian(std::size_t width) {
  const std::string_view digits = take(width);
  std::uint64_t value = 0;
  for (std::size_t i = width; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(digits[i]);
  return value;
}

std::int64_t ByteCursor::signed_little_endian(std::size_t width) {
  if (width == 0) return 0;
  const unsigned unused = 64 - 8 * static_cast<unsigned>(width);
  return static_cast<std::int64_t>(little_endian(width) << unused) >> unused;
}

std::string_view ByteCursor::take(std::uint64_t count) {
  if (count > remaining())
    fail_at(
        name_, offset_,
        fmt::format("the file ends too early: {} bytes are due, {} remain", count, remaining()));
  const auto size = static_cast<std::size_t>(count);
  const auto* first = reinterpret_cast<const char*>(bytes_.data()) + offset_;
  offset_ += size;
  return {first, size};
}

std::string_view ByteCursor::line() {
  const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + offset_, remaining());
  const std::size_t length = rest.find('\n');
  if (length == std::string_view::npos)
    fail_at(name_, offset_, "the file ends inside a line of text");
  offset_ += length + 1;
  return rest.substr(0, length);
}

}  // namespace rueda
