#pragma once

#include <cstddef>
#include <vector>

#include "facts.hpp"
#include "rueda/train/config.hpp"

namespace rueda::doctor {

/// Bytes that every rank has for training on what its backend trains on: the least over ranks of
/// the free memory, divided by the ranks that share it, less a twentieth.
std::size_t memory_per_rank(const std::vector<RankFacts>& ranks);

/// For each model at its usual image size, in fp32 and bf16, the largest batch of a rank whose
/// training fits into `bytes` on `choice`, which is planned as training plans it.
std::vector<BatchFacts> largest_batches(BackendChoice choice, std::size_t bytes, int ranks,
                                        int threads);

}  // namespace rueda::doctor
