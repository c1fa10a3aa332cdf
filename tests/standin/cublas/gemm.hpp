#pragma once

#include <cstddef>

#include <library_types.h>

namespace rueda::standin {

/// A matrix as cuBLAS has it: columns one behind another, `stride` elements apart.
struct Matrix {
  void* data;
  cudaDataType type;
  int stride;
  int rows;  ///< as it lies in memory, also if it is used transposed
  int columns;
  bool transposed;
};

/// c = alpha * a * b + beta * c; `inner` is what a and b have in common.
struct Gemm {
  Matrix a, b, c;
  int inner;
  float alpha, beta;
};

bool is_valid(const Gemm& gemm);

/// Bytes from the first element to behind the last.
std::size_t extent_bytes(const Matrix& matrix);

/// Sums in double, rounds once.
void run(const Gemm& gemm);

}  // namespace rueda::standin
