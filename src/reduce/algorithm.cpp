#include "rueda/reduce/algorithm.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace rueda {
namespace {

constexpr std::array<const char*, 8> kWords = {"auto",   "ring",    "doubling", "hierarchical",
                                               "shared", "central", "mpi",      "nccl"};

}  // namespace

const char* to_string(Algorithm algorithm) {
  return kWords.at(static_cast<std::size_t>(algorithm));
}

const char* to_string(Wire wire) { return wire == Wire::bf16 ? "bf16" : "fp32"; }

const ReduceTable::Row& ReduceTable::row(std::size_t bytes) const {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [bytes](const Row& r) { return bytes <= r.most_bytes; });
  if (found == rows.end()) throw std::out_of_range("no way to sum that many bytes");
  return *found;
}

std::string length_text(std::size_t bytes) {
  constexpr std::size_t kib = 1024;
  if (bytes % (kib * kib) == 0) return std::to_string(bytes / (kib * kib)) + " MiB";
  if (bytes % kib == 0) return std::to_string(bytes / kib) + " KiB";
  return std::to_string(bytes) + " bytes";
}

}  // namespace rueda
