#include "known_sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace rueda::bench {
namespace {

constexpr std::size_t kPiece = 1024;
constexpr std::uint32_t kDigits = 1024;  // of a whole number, by its index

/// An odd multiplier: equal pieces of the slice begin with different values wherever they are cut.
std::uint32_t spread(std::uint32_t index) { return index * 0x9e3779b1U; }

/// The distance between the whole numbers of two ranks: so small that sums stay below 2^24.
std::uint32_t stride(int ranks) {
  const auto p = static_cast<std::uint32_t>(ranks);
  const std::uint32_t left = (1U << 24U) / p - kDigits;
  return std::min(1009U, std::max(1U, 2 * left / std::max(1U, p)));
}

std::uint32_t mixed(std::uint32_t x) {
  x = (x ^ (x >> 15U)) * 0x2c1b3c6dU;
  return x ^ (x >> 12U);
}

}  // namespace

float KnownSums::value(int rank, std::uint32_t index) const {
  const auto r = static_cast<std::uint32_t>(rank);
  if (kind_ == Kind::whole) {
    return static_cast<float>(r * stride(ranks_) + (spread(index) >> 22U) + 1);
  }
  return static_cast<float>(static_cast<std::int32_t>(mixed(spread(index) + r * 0x85ebca6bU))) *
         0x1p-31F;
}

void KnownSums::fill(int rank, std::size_t first, std::span<float> values) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = value(rank, static_cast<std::uint32_t>(first + i));
  }
}

std::optional<std::size_t> KnownSums::first_wrong(std::size_t first,
                                                  std::span<const float> sums) const {
  const bool exact = kind_ == Kind::whole && wire_ == Wire::fp32;
  const double bound = exact ? 0 : error_bound(ranks_, wire_);
  for (std::size_t begin = 0; begin < sums.size(); begin += kPiece) {
    const std::size_t count = std::min(kPiece, sums.size() - begin);
    std::array<double, kPiece> sum{};
    std::array<double, kPiece> magnitude{};
    for (int rank = 0; rank < ranks_; ++rank) {
      for (std::size_t i = 0; i < count; ++i) {
        const double x = value(rank, static_cast<std::uint32_t>(first + begin + i));
        sum[i] += x;
        magnitude[i] += std::abs(x);
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      // Not ">": a NaN is wrong, too.
      if (!(std::abs(sums[begin + i] - sum[i]) <= bound * magnitude[i])) return begin + i;
    }
  }
  return std::nullopt;
}

double KnownSums::error_bound(int ranks, Wire wire) {
  const double additions = (ranks - 1) * std::log1p(0x1p-24);
  const double hops = wire == Wire::bf16 ? (ranks + 1) * std::log1p(0x1p-8) : 0;
  return std::expm1(additions + hops);
}

}  // namespace rueda::bench
