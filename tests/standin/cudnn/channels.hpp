#pragma once

#include <cstddef>
#include <vector>

#include "tensor.hpp"

namespace rueda::standin {

/// One value a channel.
using Channels = std::vector<double>;

/// Calls body(channel, element) for every element of x.
template <typename Body>
void each_of_channels(const Dense& x, const Body& body) {
  const auto channels = static_cast<std::size_t>(x.dims[1]);
  for (std::size_t i = 0; i < x.values.size(); ++i) body(i % channels, i);
}

/// Elements of a channel.
inline double samples_of(const Dense& x) {
  return static_cast<double>(x.values.size()) / static_cast<double>(x.dims[1]);
}

inline Channels channels_of(const Dense& dense) {
  return Channels(dense.values.begin(), dense.values.end());
}

/// A tensor (1, C, 1, 1).
inline Dense dense_of(const Channels& values) {
  Dense dense(Dims{1, static_cast<std::int64_t>(values.size()), 1, 1});
  for (std::size_t c = 0; c < values.size(); ++c) dense.values[c] = static_cast<float>(values[c]);
  return dense;
}

}  // namespace rueda::standin
