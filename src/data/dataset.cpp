#include "rueda/data/dataset.hpp"

#include <cstring>

#include "rueda/core/random.hpp"

namespace rueda {

void ImageSet::truncate(std::size_t n) {
  if (n >= size()) return;
  labels.resize(n);
  pixels.resize(n * kImageBytes);
}

std::uint64_t ImageSet::fingerprint() const {
  static_assert(kImageBytes % sizeof(std::uint64_t) == 0);
  std::uint64_t hash = mix64(size());
  for (std::size_t at = 0; at < pixels.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, pixels.data() + at, sizeof word);
    hash = mix64(hash ^ word);
  }
  for (const std::uint8_t label : labels) hash = mix64(hash ^ label);
  return hash;
}

}  // namespace rueda
