#include "crc32.hpp"

#include <zlib.h>

namespace rueda {

std::uint32_t crc32(std::string_view bytes, std::uint32_t before) {
  const auto* begin = reinterpret_cast<const unsigned char*>(bytes.data());
  return static_cast<std::uint32_t>(::crc32_z(before, begin, bytes.size()));
}

}  // namespace rueda
