#pragma once

#include <string>

#include "rueda/train/run_record.hpp"

namespace rueda {

/// What is printed before the first epoch: model, data, a line per rank, batches, learning rate,
/// optimizer, all-reduce, run directory. From nine ranks on, those that differ in nothing but their
/// number share a line; where that is still too long, hosts do too.
std::string start_block(const RunRecord& run);

}  // namespace rueda
