#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace rueda::fuzz {

using Bytes = std::vector<std::uint8_t>;
using Draw = std::mt19937_64;  // the same numbers everywhere, unlike the standard's distributions

/// One to four changes to `seed`: bits, bytes, numbers at the edge of their type in binary or in
/// digits, pieces cut out, doubled, moved, or taken from `other`. Never longer than twice both.
Bytes mutate(const Bytes& seed, const Bytes& other, Draw& draw);

}  // namespace rueda::fuzz
