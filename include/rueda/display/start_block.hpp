#pragma once

#include <string>

#include "rueda/train/run_record.hpp"

namespace rueda {

/// The text before the first epoch: model, data, a line per rank, batches, learning rate,
/// optimizer, all-reduce, run directory. From nine ranks on, ranks that differ only in their number
/// share a line; if these are more than eight lines, hosts share lines too.
std::string start_block(const RunRecord& run);

}  // namespace rueda
