#include "gemm.hpp"

#include <vector>

#include "tests/standin/cudnn/element.hpp"

namespace rueda::standin {
namespace {

cudnnDataType_t element_type(cudaDataType type) {
  return type == CUDA_R_16BF  ? CUDNN_DATA_BFLOAT16
         : type == CUDA_R_16F ? CUDNN_DATA_HALF
                              : CUDNN_DATA_FLOAT;
}

std::size_t index_of(const Matrix& matrix, int row, int column) {
  return static_cast<std::size_t>(column) * static_cast<std::size_t>(matrix.stride) +
         static_cast<std::size_t>(row);
}

/// Rows of op(matrix) one behind another, or its columns if `by_column`.
std::vector<double> read(const Matrix& matrix, bool by_column) {
  std::vector<double> values;
  const bool column_first = by_column != matrix.transposed;
  const int outer = column_first ? matrix.columns : matrix.rows;
  const int inner = column_first ? matrix.rows : matrix.columns;
  for (int i = 0; i < outer; ++i) {
    for (int j = 0; j < inner; ++j) {
      const std::size_t at = column_first ? index_of(matrix, j, i) : index_of(matrix, i, j);
      values.push_back(
          static_cast<double>(read_element(element_type(matrix.type), matrix.data, at)));
    }
  }
  return values;
}

double dot(const double* a, const double* b, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

bool is_valid(const Gemm& gemm) {
  for (const Matrix& matrix : {gemm.a, gemm.b, gemm.c}) {
    if (matrix.rows < 0 || matrix.columns < 0 || matrix.stride < 1 || matrix.stride < matrix.rows) {
      return false;
    }
  }
  return true;
}

std::size_t extent_bytes(const Matrix& matrix) {
  if (matrix.rows == 0 || matrix.columns == 0) return 0;
  const std::size_t last = index_of(matrix, matrix.rows - 1, matrix.columns - 1);
  return (last + 1) * element_bits(element_type(matrix.type)) / 8;
}

void run(const Gemm& gemm) {
  const auto a = read(gemm.a, false);
  const auto b = read(gemm.b, true);
  const cudnnDataType_t type = element_type(gemm.c.type);
  const auto inner = static_cast<std::size_t>(gemm.inner);
  for (int column = 0; column < gemm.c.columns; ++column) {
    for (int row = 0; row < gemm.c.rows; ++row) {
      const double product = dot(a.data() + static_cast<std::size_t>(row) * inner,
                                 b.data() + static_cast<std::size_t>(column) * inner, gemm.inner);
      const std::size_t at = index_of(gemm.c, row, column);
      double value = static_cast<double>(gemm.alpha) * product;
      if (gemm.beta != 0) {
        value += static_cast<double>(gemm.beta) *
                 static_cast<double>(read_element(type, gemm.c.data, at));
      }
      write_element(type, gemm.c.data, at, static_cast<float>(value));
    }
  }
}

}  // namespace rueda::standin
