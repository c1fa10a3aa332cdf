#pragma once

#include <cstddef>
#include <string>

#include "rueda/backend/memory_need.hpp"

namespace rueda {

/// The parts of a rank's memory in their two groups, with sums; parts that are not there are left
/// out.
std::string memory_table(const MemoryNeed& need);

/// What is said of the largest batch that fits into `memory` (as the user wrote it), and its table;
/// `batch` 0 means that not even one image fits, and `need` is that of one.
std::string largest_batch_summary(const std::string& memory, std::size_t batch,
                                  const MemoryNeed& need);

}  // namespace rueda
