#pragma once

#include <vector>

#include "observation.hpp"
#include "table.hpp"

namespace rueda {

/// One processor against another at P = 1: acceleration, not scaling. A row for every two sources
/// or kinds of processor that trained the same model, image size, batch and number of images; the
/// slower one first. Ratios of first and of steady epochs with what rounding leaves, and those of
/// steady epochs as a log prints them. No rows where there is no such pair.
Table acceleration_table(const std::vector<Observation>& observations);

}  // namespace rueda
