#include <cublas_v2.h>

#include "runtime/runtime.hpp"

// The functions of cuBLAS that the CUDA part calls.

namespace standin = rueda::standin;

struct cublasContext {
  cudaStream_t stream = nullptr;
};

namespace {

/// A matrix as cuBLAS has it: columns one after another, `stride` elements apart.
struct Matrix {
  const float* data;
  int stride;
  int rows;  ///< as it lies in memory, also if it is used transposed
  int columns;
  bool transposed;

  std::size_t index(int row, int column) const {
    return std::size_t(column) * std::size_t(stride) + std::size_t(row);
  }
  double at(int row, int column) const {
    return double(data[transposed ? index(column, row) : index(row, column)]);
  }
  bool is_valid() const { return rows >= 0 && columns >= 0 && stride >= 1 && stride >= rows; }
  bool lies_on_device() const {
    if (rows == 0 || columns == 0) return true;
    return standin::is_device_range(data, (index(rows - 1, columns - 1) + 1) * sizeof(float));
  }
};

Matrix operand(const float* data, int stride, cublasOperation_t turned, int rows, int columns) {
  if (turned == CUBLAS_OP_N) return {data, stride, rows, columns, false};
  return {data, stride, columns, rows, true};
}

/// to = a * b, laid out as c; `inner` is what a and b have in common.
struct Gemm {
  Matrix a, b, c;
  int inner;
  float* to;
};

rueda::StandinLaunch::Bytes bytes_of(const Gemm& gemm) {
  const auto of = [](const Matrix& matrix) {
    return std::size_t(matrix.rows) * std::size_t(matrix.columns) * sizeof(float);
  };
  return {.read = of(gemm.a) + of(gemm.b), .written = of(gemm.c)};
}

/// Sums in double, rounds once.
void run(const Gemm& gemm) {
  for (int column = 0; column < gemm.c.columns; ++column) {
    for (int row = 0; row < gemm.c.rows; ++row) {
      double sum = 0;
      for (int i = 0; i < gemm.inner; ++i) sum += gemm.a.at(row, i) * gemm.b.at(i, column);
      gemm.to[gemm.c.index(row, column)] = float(sum);
    }
  }
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  if (standin::device_count() == 0) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (standin::forbid_in_capture() != cudaSuccess) return CUBLAS_STATUS_ALLOC_FAILED;
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  if (standin::forbid_in_capture() != cudaSuccess) return CUBLAS_STATUS_INTERNAL_ERROR;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t, void* workspace, size_t bytes) {
  const bool aligned = std::uintptr_t(workspace) % standin::device_alignment() == 0;
  const bool fits = bytes == 0 || (aligned && standin::is_device_range(workspace, bytes));
  return fits ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }

const char* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS            ? "the requested operation has succeeded"
         : status == CUBLAS_STATUS_NOT_INITIALIZED  ? "the library was not initialized"
         : status == CUBLAS_STATUS_ALLOC_FAILED     ? "an internal allocation failed"
         : status == CUBLAS_STATUS_INVALID_VALUE    ? "an unsupported value was passed"
         : status == CUBLAS_STATUS_EXECUTION_FAILED ? "the function failed to launch on the GPU"
         : status == CUBLAS_STATUS_NOT_SUPPORTED    ? "the functionality is not supported"
                                                    : "unknown status";
}

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t turn_a,
                           cublasOperation_t turn_b, int m, int n, int k, const float* alpha,
                           const float* a, int stride_a, const float* b, int stride_b,
                           const float* beta, float* c, int stride_c) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (*alpha != 1 || *beta != 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  const Gemm gemm{operand(a, stride_a, turn_a, m, k), operand(b, stride_b, turn_b, k, n),
                  operand(c, stride_c, CUBLAS_OP_N, m, n), k, c};
  for (const Matrix& matrix : {gemm.a, gemm.b, gemm.c}) {
    if (!matrix.is_valid() || !matrix.lies_on_device()) return CUBLAS_STATUS_INVALID_VALUE;
  }
  standin::note_launch(
      {.name = "gemm", .flops = 2.0 * m * n * k, .touched = {{0, bytes_of(gemm)}}});
  const cudaError_t code = standin::submit(handle->stream, [gemm] { run(gemm); });
  return code == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
