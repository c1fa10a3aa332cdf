#include "pickle_values.hpp"

#include <fmt/format.h>

#include "rueda/core/text.hpp"

namespace rueda {

bool decode_latin1(std::string_view utf8, std::string& latin1) {
  latin1.clear();
  latin1.reserve(utf8.size());
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto lead = static_cast<unsigned char>(utf8[i]);
    if (lead < 0x80) {
      latin1 += utf8[i];
      continue;
    }
    // Characters 128 to 255 are two bytes, 110000ab 10cdefgh.
    if ((lead != 0xc2 && lead != 0xc3) || i + 1 == utf8.size()) return false;
    const auto follower = static_cast<unsigned char>(utf8[++i]);
    if ((follower & 0xc0) != 0x80) return false;
    latin1 += static_cast<char>((lead & 3) << 6 | (follower & 0x3f));
  }
  return true;
}

std::string shape_text(const Pickle& pickle, const PickleValue& shape) {
  std::string out;
  for (const PickleRef item : shape.items)
    out += fmt::format("{}{}", out.empty() ? "" : ", ", pickle[item].integer);
  return "(" + out + ")";
}

std::int64_t integer_element(const Pickle& pickle, const PickleValue& dtype, std::string_view raw,
                             std::size_t index, std::size_t offset) {
  const std::string_view code = dtype.bytes;
  const bool integer = code.size() == 2 && (code[0] == 'u' || code[0] == 'i');
  if (!integer || dtype.integer == '>')
    pickle.fail(offset, fmt::format("elements of type '{}{}' are not little-endian integers",
                                    static_cast<char>(dtype.integer), printable(code)));
  const auto width = static_cast<std::size_t>(code[1] - '0');
  std::uint64_t value = 0;
  for (std::size_t i = width; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(raw[index * width + i]);
  const unsigned unused = 64 - 8 * static_cast<unsigned>(width);
  if (code[0] == 'u') return static_cast<std::int64_t>(value);
  return static_cast<std::int64_t>(value << unused) >> unused;
}

}  // namespace rueda
