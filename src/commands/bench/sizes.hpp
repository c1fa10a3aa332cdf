#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rueda::bench {

/// The length of a slice.
struct Size {
  std::size_t bytes = 0;  ///< a multiple of 4
  std::string model;      ///< whose gradients are as long; empty: none
  bool operator==(const Size&) const = default;
};

/// 4 B to 256 MB, and the gradients of three networks.
inline constexpr const char* kDefaultSizes =
    "4,64,1k,4k,10k,40k,100k,400k,resnet20,4M,10M,40M,resnet18,resnet50v2,100M,256M";

/// Sizes between commas: bytes, with k, M, G for powers of 1000 and Ki, Mi, Gi for powers of 1024,
/// or the name of a network for what its training sums in a step (`GradientLayout`). Ascending,
/// each once. Throws InputError naming the word.
std::vector<Size> parse_sizes(const std::string& words);

/// KiB between commas, as bytes; ascending, each once. Throws InputError naming the word.
std::vector<std::size_t> parse_segments(const std::string& words);

/// What stands between commas, empty words too.
std::vector<std::string> split_words(const std::string& words);

}  // namespace rueda::bench
