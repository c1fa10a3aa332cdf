#pragma once

#include <cstddef>
#include <string_view>

namespace rueda {

/// The first line on which a TOML text nests more than `most` levels: parts of a
/// dotted key, arrays, inline tables. 0: none does. A parser that descends into
/// each level would overflow its stack; this only counts, strings and comments
/// aside, and counts what is no TOML as if it were.
std::size_t line_nested_deeper(std::string_view toml, std::size_t most);

}  // namespace rueda
