#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "pickle.hpp"

namespace rueda {

/// Bound on all text that one pickle may have decoded; no CIFAR-10 file comes near.
inline constexpr std::size_t kMaxDecodedBytes = 200'000'000;

/// Turns UTF-8 into Latin-1; false if it is malformed or has characters above 255.
bool decode_latin1(std::string_view utf8, std::string& latin1);

/// "(10000, 3072)".
std::string shape_text(const Pickle& pickle, const PickleValue& shape);

/// Element `index` of `raw`, whose type is `dtype`. Refuses anything but little-endian integers.
std::int64_t integer_element(const Pickle& pickle, const PickleValue& dtype, std::string_view raw,
                             std::size_t index, std::size_t offset);

}  // namespace rueda
