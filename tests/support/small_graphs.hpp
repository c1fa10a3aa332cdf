#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rueda/model/graph.hpp"

namespace rueda::test {

/// Two basic blocks with He's option A shortcuts, as resnet20 but 8 and 16 filters.
Graph small_option_a(int image_size);
/// Two basic blocks with a projection shortcut, as resnet18 but 8 and 16 filters.
Graph small_projection(int image_size);
/// Pre-activation blocks as in Keras' ResNet V2: biases, a 7x7/2 stem with a 3x3/2 max pool, a
/// max pool of kernel 1 and stride 2 as shortcut, additions without ReLU that two nodes read.
Graph small_preactivation(int image_size);
/// A convolution whose output three nodes read.
Graph small_three_readers(int image_size);

/// A convolution of 5 filters of 2x2 over 3 channels with a bias, a batch norm, and a dense layer
/// of 4 units: all extents differ. Named "conv", "bn" and "dense", as the origin would.
Graph small_one_of_each(Origin origin);

template <typename Range>
std::vector<std::string> names_of(const Range& things) {
  std::vector<std::string> names;
  for (const auto& thing : things) names.push_back(thing.name);
  return names;
}

struct SmallGraph {
  std::string name;
  std::function<Graph(int)> build;
};
const std::vector<SmallGraph>& small_graphs();

}  // namespace rueda::test
