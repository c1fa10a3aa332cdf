#pragma once

#include <string>

#include "rueda/reduce/algorithm.hpp"

namespace rueda {

/// The rows for a record, from which a resumed run reads them:
/// "doubling:65536,ring/524288" is doubling up to 65,536 bytes, and above the ring
/// in segments of 524,288 bytes.
std::string table_text(const ReduceTable& table);

/// Reads that text. Throws InputError for another one.
ReduceTable parse_reduce_table(const std::string& text);

}  // namespace rueda
