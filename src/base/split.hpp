#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <span>

namespace rueda {

/// Half-open range [begin, end) of indices.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
  constexpr std::size_t size() const noexcept { return end - begin; }
  constexpr bool empty() const noexcept { return begin == end; }
  friend constexpr bool operator==(const Range&, const Range&) = default;
};

/// Part `index` of `total` items cut into `parts` contiguous parts whose sizes
/// differ by at most one, the larger ones first. Exact for any total, also
/// below `parts`; no product can overflow. The chunks of the ring and the
/// ranks' shares of a global batch are both this cut.
constexpr Range even_split(std::size_t total, std::size_t parts, std::size_t index) noexcept {
  const std::size_t base = total / parts;
  const std::size_t larger = total % parts;
  const std::size_t begin = index * base + std::min(index, larger);
  return {begin, begin + base + (index < larger ? 1 : 0)};
}

/// Part `index` of `total` items that are cut into contiguous parts in the
/// proportions of `shares`, which are not all 0. As many items as the shares add
/// up to are cut into the shares themselves.
inline Range share_of(std::size_t total, std::span<const std::size_t> shares,
                      std::size_t index) noexcept {
  const std::size_t sum = std::accumulate(shares.begin(), shares.end(), std::size_t{0});
  const auto begin = shares.begin();
  const std::size_t before = std::accumulate(begin, begin + std::ptrdiff_t(index), std::size_t{0});
  if (total == sum) return {before, before + shares[index]};
  const auto place = [&](std::size_t share) {
    return std::size_t(double(share) / double(sum) * double(total));
  };
  return {place(before), place(before + shares[index])};
}

/// Whether the memory of `part` is within that of `whole`.
inline bool lies_in(std::span<const float> part, std::span<const float> whole) noexcept {
  return std::less_equal<>()(whole.data(), part.data()) &&
         std::less_equal<>()(part.data() + part.size(), whole.data() + whole.size());
}

/// The elements `part` of `whole`.
template <typename T>
constexpr std::span<T> cut(std::span<T> whole, Range part) {
  return whole.subspan(part.begin, part.size());
}

/// How many pieces of up to `length` elements `total` elements make.
constexpr std::size_t pieces(std::size_t total, std::size_t length) noexcept {
  return total / length + (total % length == 0 ? 0 : 1);
}

/// Piece `index` of them; empty beyond the last.
template <typename T>
constexpr std::span<T> piece(std::span<T> whole, std::size_t length, std::size_t index) {
  const std::size_t begin = std::min(whole.size(), index * length);
  return whole.subspan(begin, std::min(length, whole.size() - begin));
}

}  // namespace rueda
