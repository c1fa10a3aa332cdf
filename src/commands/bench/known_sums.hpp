#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rueda/reduce/algorithm.hpp"

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

}  // namespace rueda::bench
