#pragma once

#include "sweep.hpp"

// Matrices with a row for each pixel and a column for each channel.

namespace rueda::sweep {

struct Matrix {
  std::size_t rows;
  int channels;
  bool aligned;  ///< to 16 bytes
  std::size_t elements() const { return rows * std::size_t(channels); }
};

std::string shape_of(const Matrix& m);

/// One row, fewer rows than a block has threads, several blocks of rows; channels of less than a
/// pack, of a pack, of less than a tile, of several tiles and a part of one.
std::vector<Matrix> matrices();

template <typename T>
std::size_t before(const Matrix& m) {
  return m.aligned ? 0 : sizeof(T);
}

/// So many channels that each block has few rows; as many blocks of rows as there may be.
template <typename T>
std::vector<Matrix> large_matrices() {
  std::vector<Matrix> all = {{sizeof(T) == 2 ? 17500UL : 8800UL, 32, true}};
  if (choice().whole) all.push_back({150000, 5, true});
  return all;
}

}  // namespace rueda::sweep
