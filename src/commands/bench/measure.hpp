#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rueda/backend/backend.hpp"
#include "rueda/reduce/algorithm.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/reduce/rank_group.hpp"

namespace rueda::bench {

/// Ranks up to which sums of whole numbers stay below 2^24, so that fp32 has them exactly.
inline constexpr int kMostExactRanks = 4096;

/// Numbers of which each rank and each index has its own, and the test of their sums.
class KnownSums {
 public:
  enum class Kind {
    whole,  ///< whole numbers whose sums are exact in any order of addition
    real,   ///< of random digits, from -1 to 1: sums differ by the order, within `error_bound`
  };
  /// Of `ranks`, at most kMostExactRanks.
  KnownSums(Kind kind, int ranks, Wire wire) : kind_(kind), ranks_(ranks), wire_(wire) {}

  /// What rank `rank` brings, from index `first` on.
  void fill(int rank, std::size_t first, std::span<float> values) const;
  /// The first index of `sums`, which begins at index `first` of the slice, that is not the sum of
  /// what all ranks brought; nothing if all are right.
  std::optional<std::size_t> first_wrong(std::size_t first, std::span<const float> sums) const;

  /// How far a sum of real numbers may be off, as a share of the sum of their magnitudes:
  /// (1+u)^(P-1) - 1 with u = 2^-24, since no order of P-1 additions rounds a value oftener. With
  /// w = 2^-8 for a bf16 wire, where a value is also rounded at each of at most P hops and once by
  /// the owner, (1+u)^(P-1) (1+w)^(P+1) - 1.
  static double error_bound(int ranks, Wire wire);

 private:
  float value(int rank, std::uint32_t index) const;

  Kind kind_;
  int ranks_;
  Wire wire_;
};

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

/// Collective: each candidate sums the first `floats` of its memory again and again. They take
/// turns, and take turns in going first. A barrier precedes each sum. Every element of every sum is
/// tested, whole numbers and real ones alternately. Warm-up sums are not counted. On every rank the
/// same times, in the order of `candidates`. Throws RunError naming algorithm, rank and element for
/// a wrong sum.
std::vector<Seconds> measure(const TestBed& bed, std::span<const Candidate> candidates,
                             std::size_t floats, const Effort& effort);

}  // namespace rueda::bench
