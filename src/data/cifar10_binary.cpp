#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "byte_cursor.hpp"
#include "cifar10_decode.hpp"

namespace rueda {

void decode_binary(std::span<const std::uint8_t> bytes, const std::string& name, ImageSet& set) {
  constexpr std::size_t kRecordBytes = 1 + kImageBytes;
  const std::size_t records = bytes.size() / kRecordBytes;
  const std::size_t rest = bytes.size() % kRecordBytes;
  if (bytes.empty()) fail_at(name, 0, "the file is empty");
  if (rest != 0)
    fail_at(name, bytes.size() - rest,
            fmt::format("record {} is truncated: {} of {} bytes", records, rest, kRecordBytes));
  for (std::size_t i = 0; i < records; ++i) {
    const auto record = bytes.subspan(i * kRecordBytes, kRecordBytes);
    if (record[0] >= kClasses)
      fail_at(name, i * kRecordBytes,
              fmt::format("record {} has label {}, expected 0 to {}", i, record[0], kClasses - 1));
    set.labels.push_back(record[0]);
    set.pixels.insert(set.pixels.end(), record.begin() + 1, record.end());
  }
}

std::optional<ClassNames> binary_class_names(std::span<const std::uint8_t> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  ClassNames names;
  std::size_t count = 0;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    if (count == names.size()) return std::nullopt;
    names[count++] = line;
  }
  return count == names.size() ? std::optional(names) : std::nullopt;
}

}  // namespace rueda
