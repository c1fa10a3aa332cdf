#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "buffer.hpp"
#include "rueda/reduce/algorithm.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/reduce/rank_group.hpp"

namespace rueda::bench {

/// Seconds of each repetition, the slowest rank's.
using Seconds = std::vector<double>;

/// On what sums are measured.
struct Ground {
  RankGroup& group;
  ReduceDevice& device;
  Wire wire = Wire::fp32;
};

/// An all-reduce and the memory that it sums in place: one and the same for all, but for those that
/// want it in a place of their own.
struct Contestant {
  AllReduce* reduce = nullptr;
  Buffer* buffer = nullptr;
};

/// How long one length is measured.
struct Effort {
  std::size_t repetitions = 0;  ///< 0: by the length, 15 to 500
  double seconds = 10;          ///< after which no further repetition begins, but for the first 3
};

/// Repetitions of a slice of `bytes` where nobody says how many.
std::size_t usual_repetitions(std::size_t bytes);

/// Collective: has each of `contestants` sum the first `floats` of its buffer again and again. They
/// take turns, and take turns in going first; a barrier precedes each sum, and every element of
/// every sum is tested, whole numbers and real ones alternately. Warm-up sums are not counted. On
/// every rank the same times, in the order of `contestants`. Throws RunError naming algorithm, rank
/// and element for a wrong sum.
std::vector<Seconds> measure(const Ground& ground, std::span<const Contestant> contestants,
                             std::size_t floats, const Effort& effort);

}  // namespace rueda::bench
