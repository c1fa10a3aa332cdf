#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rueda {

/// Throws InputError "NAME: byte OFFSET: REASON; REMEDY", the one shape in which damage in a data
/// file is reported.
[[noreturn]] void fail_at(const std::string& name, std::size_t offset, const std::string& reason);

/// Reads the bytes of one file in order and never past their end. Lengths are compared with what
/// remains before anything is taken or allocated. The bytes must outlive the cursor's views.
class ByteCursor {
 public:
  ByteCursor(std::span<const std::uint8_t> bytes, std::string name);

  const std::string& name() const noexcept { return name_; }
  std::size_t offset() const noexcept { return offset_; }
  std::size_t remaining() const noexcept { return bytes_.size() - offset_; }

  std::uint8_t byte();
  /// An unsigned little-endian integer of `width` bytes, 1 to 8.
  std::uint64_t little_endian(std::size_t width);
  /// The same in two's complement; `width` 0 is the number 0.
  std::int64_t signed_little_endian(std::size_t width);
  std::string_view take(std::uint64_t count);
  /// Up to the next newline, which is consumed and not returned.
  std::string_view line();

 private:
  std::span<const std::uint8_t> bytes_;
  std::string name_;
  std::size_t offset_ = 0;
};

}  // namespace rueda
