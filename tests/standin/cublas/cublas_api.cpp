#include <new>

#include <cublas_v2.h>

#include "gemm.hpp"
#include "tests/standin/runtime/device.hpp"
#include "tests/standin/runtime/memory.hpp"
#include "tests/standin/runtime/stream.hpp"

namespace standin = rueda::standin;
using standin::Gemm;
using standin::Matrix;

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
};

namespace {

cublasStatus_t enqueue(cublasHandle_t handle, standin::Item item) {
  const cudaError_t code =
      standin::submit(handle->stream, std::move(item), cudaGraphNodeTypeKernel);
  return code == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

bool is_known(cudaDataType type) {
  return type == CUDA_R_32F || type == CUDA_R_16BF || type == CUDA_R_16F;
}

bool is_known(cublasComputeType_t type) {
  return type == CUBLAS_COMPUTE_32F || type == CUBLAS_COMPUTE_32F_FAST_TF32 ||
         type == CUBLAS_COMPUTE_32F_PEDANTIC;
}

bool lies_on_device(const Matrix& matrix) {
  return standin::is_device_range(matrix.data, standin::extent_bytes(matrix));
}

cublasStatus_t multiply(cublasHandle_t handle, const Gemm& gemm) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!standin::is_valid(gemm)) return CUBLAS_STATUS_INVALID_VALUE;
  if (gemm.c.rows == 0 || gemm.c.columns == 0) return CUBLAS_STATUS_SUCCESS;
  const bool reads = gemm.inner > 0;
  if ((reads && !(lies_on_device(gemm.a) && lies_on_device(gemm.b))) || !lies_on_device(gemm.c)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return enqueue(handle, [gemm] { standin::run(gemm); });
}

Matrix operand(const void* data, cudaDataType type, int stride, cublasOperation_t turned, int rows,
               int columns) {
  const bool as_it_lies = turned == CUBLAS_OP_N;
  return {const_cast<void*>(data),     type,       stride, as_it_lies ? rows : columns,
          as_it_lies ? columns : rows, !as_it_lies};
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  if (standin::device_count() == 0) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream(cublasHandle_t handle, cudaStream_t* stream) {
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t, void* workspace, size_t bytes) {
  const bool fits = bytes == 0 || standin::is_device_range(workspace, bytes);
  return fits ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  handle->math = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  *mode = handle->math;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
  handle->pointer_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t, cublasAtomicsMode_t) {
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

size_t cublasGetCudartVersion() { return CUDART_VERSION; }

const char* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS            ? "the requested operation has succeeded"
         : status == CUBLAS_STATUS_NOT_INITIALIZED  ? "the library was not initialized"
         : status == CUBLAS_STATUS_INVALID_VALUE    ? "an unsupported value was passed"
         : status == CUBLAS_STATUS_EXECUTION_FAILED ? "the function failed to launch on the GPU"
         : status == CUBLAS_STATUS_NOT_SUPPORTED    ? "the functionality is not supported"
                                                    : "unknown status";
}

const char* cublasGetStatusName(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS            ? "CUBLAS_STATUS_SUCCESS"
         : status == CUBLAS_STATUS_NOT_INITIALIZED  ? "CUBLAS_STATUS_NOT_INITIALIZED"
         : status == CUBLAS_STATUS_INVALID_VALUE    ? "CUBLAS_STATUS_INVALID_VALUE"
         : status == CUBLAS_STATUS_EXECUTION_FAILED ? "CUBLAS_STATUS_EXECUTION_FAILED"
         : status == CUBLAS_STATUS_NOT_SUPPORTED    ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                                    : "unknown status";
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t turn_a,
                            cublasOperation_t turn_b, int m, int n, int k, const void* alpha,
                            const void* a, cudaDataType type_a, int stride_a, const void* b,
                            cudaDataType type_b, int stride_b, const void* beta, void* c,
                            cudaDataType type_c, int stride_c, cublasComputeType_t compute,
                            cublasGemmAlgo_t) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!is_known(compute) || !is_known(type_a) || type_a != type_b || !is_known(type_c) ||
      handle->pointer_mode != CUBLAS_POINTER_MODE_HOST) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return multiply(handle, {operand(a, type_a, stride_a, turn_a, m, k),
                           operand(b, type_b, stride_b, turn_b, k, n),
                           operand(c, type_c, stride_c, CUBLAS_OP_N, m, n), k,
                           *static_cast<const float*>(alpha), *static_cast<const float*>(beta)});
}

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t turn_a,
                           cublasOperation_t turn_b, int m, int n, int k, const float* alpha,
                           const float* a, int stride_a, const float* b, int stride_b,
                           const float* beta, float* c, int stride_c) {
  return cublasGemmEx(handle, turn_a, turn_b, m, n, k, alpha, a, CUDA_R_32F, stride_a, b,
                      CUDA_R_32F, stride_b, beta, c, CUDA_R_32F, stride_c, CUBLAS_COMPUTE_32F,
                      CUBLAS_GEMM_DEFAULT);
}

cublasStatus_t cublasSgemv(cublasHandle_t handle, cublasOperation_t turned, int m, int n,
                           const float* alpha, const float* a, int stride_a, const float* x,
                           int step_x, const float* beta, float* y, int step_y) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (step_x < 1 || step_y < 1) return CUBLAS_STATUS_NOT_SUPPORTED;
  const int rows = turned == CUBLAS_OP_N ? m : n;
  const int inner = turned == CUBLAS_OP_N ? n : m;
  // y' = x' A', so that the steps of the vectors are strides of matrices with one row.
  return multiply(
      handle, {operand(x, CUDA_R_32F, step_x, CUBLAS_OP_N, 1, inner),
               operand(a, CUDA_R_32F, stride_a, turned == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N,
                       inner, rows),
               operand(y, CUDA_R_32F, step_y, CUBLAS_OP_N, 1, rows), inner, *alpha, *beta});
}

}  // extern "C"
