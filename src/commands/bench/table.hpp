#pragma once

#include <string>
#include <vector>

#include "record.hpp"

namespace rueda::bench {

/// Above the table: ranks, hosts, memory, way to MPI, what was left out, columns. Every line within
/// 100 columns where the names of devices allow.
std::string table_head(const Record& record);

/// The lines of one size; `rows` are all of that size.
std::string table_rows(const std::vector<Row>& rows, std::size_t ranks);

/// "4 ranks on 2 hosts (node1: 2, node2: 2)".
std::string ranks_text(const std::vector<std::string>& hosts);

}  // namespace rueda::bench
