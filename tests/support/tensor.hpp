#pragma once

#include <cstddef>
#include <vector>

#include "rueda/model/graph.hpp"

namespace rueda::test {

/// Plain (N, C, H, W) values in double.
struct Tensor {
  int n = 0;
  int c = 0;
  int h = 1;
  int w = 1;
  std::vector<double> values;

  Tensor() = default;
  Tensor(int images, int channels, int height, int width)
      : n(images), c(channels), h(height), w(width) {
    values.assign(std::size_t(n) * std::size_t(c) * std::size_t(h) * std::size_t(w), 0.0);
  }
  Tensor(int images, const Shape& shape)
      : Tensor(images, shape.channels, shape.height, shape.width) {}

  double& at(int in, int ic, int iy, int ix) { return values[index(in, ic, iy, ix)]; }
  double at(int in, int ic, int iy, int ix) const { return values[index(in, ic, iy, ix)]; }
  bool has(int iy, int ix) const { return iy >= 0 && iy < h && ix >= 0 && ix < w; }
  std::size_t size() const { return values.size(); }

 private:
  std::size_t index(int in, int ic, int iy, int ix) const {
    return std::size_t(((in * c + ic) * h + iy) * w + ix);
  }
};

/// f(image, channel, y, x) for every element of a tensor of this shape, in memory order.
template <typename F>
void for_each_place(const Tensor& t, F f) {
  for (int n = 0; n < t.n; ++n) {
    for (int c = 0; c < t.c; ++c) {
      for (int y = 0; y < t.h; ++y) {
        for (int x = 0; x < t.w; ++x) f(n, c, y, x);
      }
    }
  }
}

}  // namespace rueda::test
