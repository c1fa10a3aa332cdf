#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "rueda/backend/backend.hpp"
#include "rueda/reduce/algorithm.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/reduce/rank_group.hpp"

namespace rueda::bench {

/// Seconds of each repetition, the slowest rank's.
using Seconds = std::vector<double>;

/// On what sums are measured.
struct TestBed {
  RankGroup& group;
  Backend& backend;
  Wire wire = Wire::fp32;
};

/// An all-reduce and the backend's memory that it sums in place.
struct Candidate {
  AllReduce* reduce = nullptr;
  std::span<float> memory;
};

/// How long one length is measured.
struct Effort {
  std::size_t repetitions = 0;  ///< 0: by the length, 15 to 500
  double seconds = 10;          ///< after this no further repetition begins, except the first 3
};

/// Repetitions of a slice of `bytes` where `Effort` does not say how many.
std::size_t usual_repetitions(std::size_t bytes);

/// Collective: each candidate sums the first `floats` of its memory again and again. They take
/// turns, and take turns in going first. A barrier precedes each sum. Every element of every sum is
/// tested, whole numbers and real ones alternately. Warm-up sums are not counted. On every rank the
/// same times, in the order of `candidates`. Throws RunError naming algorithm, rank and element for
/// a wrong sum.
std::vector<Seconds> measure(const TestBed& bed, std::span<const Candidate> candidates,
                             std::size_t floats, const Effort& effort);

}  // namespace rueda::bench
