#include <string>

#include <cublas_v2.h>
#include <dlfcn.h>

#include "base/error.hpp"

// The functions of cuBLAS that are called, by way of the library, which is loaded
// when the first of them is. The loader takes longer to bring cuBLAS into memory
// than rueda takes to start, and few starts train on a GPU.

namespace rueda::cuda {
namespace {

/// cuBLAS. It stays loaded, as a library that is linked would. Throws RunError
/// where it is not found.
void* cublas() {
  static void* const library = [] {
    void* const opened = dlopen(RUEDA_CUBLAS, RTLD_NOW);
    if (opened != nullptr) return opened;
    throw RunError("cuBLAS cannot be loaded: " + std::string(dlerror()) +
                   "; put the folder of " RUEDA_CUBLAS " into LD_LIBRARY_PATH");
  }();
  return library;
}

/// Calls the function of this name and type.
template <typename Function, typename... Arguments>
auto call(const char* name, Function* /*type*/, Arguments... arguments) {
  void* const address = dlsym(cublas(), name);
  if (address == nullptr) throw RunError(std::string(RUEDA_CUBLAS " has no ") + name);
  return reinterpret_cast<Function*>(address)(arguments...);
}

}  // namespace
}  // namespace rueda::cuda

using rueda::cuda::call;

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  return call(__func__, cublasCreate_v2, handle);
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  return call(__func__, cublasDestroy_v2, handle);
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  return call(__func__, cublasSetStream_v2, handle, stream);
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  return call(__func__, cublasSetWorkspace_v2, handle, workspace, bytes);
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return call(__func__, cublasSetMathMode, handle, mode);
}

const char* cublasGetStatusString(cublasStatus_t status) {
  return call(__func__, cublasGetStatusString, status);
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t turn_a,
                              cublasOperation_t turn_b, int m, int n, int k, const float* alpha,
                              const float* a, int stride_a, const float* b, int stride_b,
                              const float* beta, float* c, int stride_c) {
  return call(__func__, cublasSgemm_v2, handle, turn_a, turn_b, m, n, k, alpha, a, stride_a, b,
              stride_b, beta, c, stride_c);
}

}  // extern "C"
