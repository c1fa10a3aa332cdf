#include <memory>
#include <string>

#include <catch2/catch.hpp>
#include <cublas_v2.h>
#include <dlfcn.h>

namespace {

/// cuBLAS if it is loaded, else null; loads nothing.
std::unique_ptr<void, decltype([](void* library) { dlclose(library); })> loaded_cublas() {
  return {dlopen(RUEDA_CUBLAS, RTLD_NOW | RTLD_NOLOAD), {}};
}

}  // namespace

// tests/cli/cli_test.py sees that it is not loaded before.
TEST_CASE("a call of cuBLAS loads it and reaches the library's own function", "[cublas]") {
  // The library's own words, which rueda does not have.
  CHECK(std::string(cublasGetStatusString(CUBLAS_STATUS_NOT_SUPPORTED)).find("supported") !=
        std::string::npos);
  CHECK(loaded_cublas() != nullptr);
  cublasHandle_t none = nullptr;
  CHECK(cublasSetMathMode(none, CUBLAS_PEDANTIC_MATH) == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(cublasSetStream(none, nullptr) == CUBLAS_STATUS_NOT_INITIALIZED);
  const float one = 1;
  CHECK(cublasSgemm(none, CUBLAS_OP_N, CUBLAS_OP_T, 1, 1, 1, &one, &one, 1, &one, 1, &one, nullptr,
                    1) == CUBLAS_STATUS_NOT_INITIALIZED);
}
