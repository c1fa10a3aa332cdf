#pragma once

#include <cstdint>
#include <string_view>

namespace rueda {

/// CRC-32 as of gzip and PNG; `before`: of the bytes in front of these.
std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0);

}  // namespace rueda
