#include "mutate.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string_view>

namespace rueda::fuzz {
namespace {

std::size_t below(std::size_t end, Draw& draw) { return end == 0 ? 0 : draw() % end; }

/// A piece of `bytes`, mostly a short one.
struct Piece {
  std::ptrdiff_t begin, end;
};

Piece piece_of(const Bytes& bytes, Draw& draw) {
  const std::size_t begin = below(bytes.size() + 1, draw);
  const std::size_t room = bytes.size() - begin;
  const std::size_t most = draw() % 4 == 0 ? room : std::min<std::size_t>(room, 32);
  return {std::ptrdiff_t(begin), std::ptrdiff_t(begin + below(most + 1, draw))};
}

void change_byte(Bytes& bytes, Draw& draw) {
  if (bytes.empty()) return;
  std::uint8_t& byte = bytes[below(bytes.size(), draw)];
  if (draw() % 2 == 0)
    byte ^= static_cast<std::uint8_t>(1U << (draw() % 8));
  else
    byte = static_cast<std::uint8_t>(draw());
}

void put_number(Bytes& bytes, Draw& draw) {
  constexpr std::array<std::uint64_t, 8> kEdges = {
      0, 1, 0x7f, 0xff, 0x7fff'ffff, 0xffff'ffff, 0x7fff'ffff'ffff'ffff, 0xffff'ffff'ffff'ffff};
  const std::uint64_t value = kEdges[draw() % kEdges.size()];
  const std::size_t width = std::size_t{1} << (draw() % 4);
  const std::size_t at = below(bytes.size(), draw);
  for (std::size_t i = 0; i < width && at + i < bytes.size(); ++i)
    bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

void insert_text(Bytes& bytes, std::ptrdiff_t at, std::string_view text) {
  bytes.insert(bytes.begin() + at, text.begin(), text.end());
}

/// Puts another number where digits stand.
void put_digits(Bytes& bytes, Draw& draw) {
  constexpr std::array<std::string_view, 10> kNumbers = {
      "0",          "-1",  "1e308", "1e999", "18446744073709551615", "9007199254740993",
      "4294967296", "0.1", "null",  "1e-320"};
  const auto is_digit = [](std::uint8_t c) { return std::isdigit(c) != 0; };
  const auto from = bytes.begin() + std::ptrdiff_t(below(bytes.size() + 1, draw));
  const auto first = std::find_if(from, bytes.end(), is_digit);
  const auto last = std::find_if_not(first, bytes.end(), is_digit);
  const auto at = first - bytes.begin();
  bytes.erase(first, last);
  insert_text(bytes, at, kNumbers[draw() % kNumbers.size()]);
}

void cut(Bytes& bytes, Draw& draw) {
  const Piece piece = piece_of(bytes, draw);
  bytes.erase(bytes.begin() + piece.begin, bytes.begin() + piece.end);
}

/// A piece of `from` into or over `bytes`.
void copy(Bytes& bytes, const Bytes& from, Draw& draw) {
  const Piece piece = piece_of(from, draw);
  const Bytes taken(from.begin() + piece.begin, from.begin() + piece.end);
  const auto at = std::ptrdiff_t(below(bytes.size() + 1, draw));
  if (draw() % 2 == 0) {
    bytes.insert(bytes.begin() + at, taken.begin(), taken.end());
    return;
  }
  const std::size_t room = bytes.size() - std::size_t(at);
  std::copy_n(taken.begin(), std::min(room, taken.size()), bytes.begin() + at);
}

void change_once(Bytes& bytes, const Bytes& other, Draw& draw) {
  switch (draw() % 6) {
    case 0:
      return change_byte(bytes, draw);
    case 1:
      return put_number(bytes, draw);
    case 2:
      return put_digits(bytes, draw);
    case 3:
      return cut(bytes, draw);
    case 4:
      return copy(bytes, Bytes(bytes), draw);
    default:
      return copy(bytes, other, draw);
  }
}

}  // namespace

Bytes mutate(const Bytes& seed, const Bytes& other, Draw& draw) {
  Bytes bytes = seed;
  for (std::size_t changes = 1 + draw() % 4; changes > 0; --changes)
    change_once(bytes, other, draw);
  bytes.resize(std::min(bytes.size(), 2 * (seed.size() + other.size())));
  return bytes;
}

}  // namespace rueda::fuzz
