#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "rueda/data/dataset.hpp"

namespace rueda {

/// Where the images of one file lie in their split.
struct FileImages {
  std::string name;
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// A sentence each on what no CIFAR-10 set has: training files that are equal,
/// training images that are there again with another label, a training file that is the test file,
/// other test images that are trained on, and long runs of one image. Images are compared by a hash
/// of 64 bits.
std::vector<std::string> find_repeats(const Dataset& dataset, std::span<const FileImages> train,
                                      const std::string& test_name);

}  // namespace rueda
