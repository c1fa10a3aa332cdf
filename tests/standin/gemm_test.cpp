#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include <catch2/catch.hpp>
#include <cublas_v2.h>

#include "tests/cuda/device_vector.hpp"
#include "tests/support/bf16_rounding.hpp"
#include "tests/support/values.hpp"

// cuBLAS's products against sums in double; matrices lie by columns.

namespace {

using rueda::test::DeviceVector;
using rueda::test::filled;
using rueda::test::rough_value;
using Floats = std::vector<float>;

constexpr int kM = 5, kN = 4, kK = 7;

class Blas {
 public:
  Blas() : stream_(rueda::cuda::make_stream()) {
    REQUIRE(cublasCreate(&handle_) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(cublasSetStream(handle_, stream_.get()) == CUBLAS_STATUS_SUCCESS);
  }
  ~Blas() { cublasDestroy(handle_); }
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;
  cublasHandle_t handle() const { return handle_; }
  cudaStream_t stream() const { return stream_.get(); }

 private:
  rueda::cuda::Stream stream_;
  cublasHandle_t handle_ = nullptr;
};

/// Element (row, column) of op(a).
double element(const Floats& a, int stride, cublasOperation_t turned, int row, int column) {
  const int at = turned == CUBLAS_OP_N ? column * stride + row : row * stride + column;
  return double{a[static_cast<std::size_t>(at)]};
}

std::size_t size_of(int stride, cublasOperation_t turned, int rows, int columns) {
  return static_cast<std::size_t>(stride * (turned == CUBLAS_OP_N ? columns : rows));
}

}  // namespace

TEST_CASE("products of matrices, each as it lies or transposed") {
  const auto turn_a = GENERATE(CUBLAS_OP_N, CUBLAS_OP_T);
  const auto turn_b = GENERATE(CUBLAS_OP_N, CUBLAS_OP_T);
  const float beta = GENERATE(0.0F, 0.5F);
  CAPTURE(turn_a, turn_b, beta);
  constexpr int stride_a = 9, stride_b = 8, stride_c = 6;
  const float alpha = 2;
  const Floats a = filled<rough_value>(1, size_of(stride_a, turn_a, kM, kK));
  const Floats b = filled<rough_value>(2, size_of(stride_b, turn_b, kK, kN));
  Floats expected = filled<rough_value>(3, stride_c * kN);
  const Blas blas;
  const DeviceVector<float> a_memory(a, blas.stream());
  const DeviceVector<float> b_memory(b, blas.stream());
  const DeviceVector<float> c_memory(expected, blas.stream());
  CHECK(cublasSgemm(blas.handle(), turn_a, turn_b, kM, kN, kK, &alpha, a_memory.data(), stride_a,
                    b_memory.data(), stride_b, &beta, c_memory.data(),
                    stride_c) == CUBLAS_STATUS_SUCCESS);
  for (int i = 0; i < kM * kN; ++i) {
    double sum = 0;
    for (int k = 0; k < kK; ++k) {
      sum += element(a, stride_a, turn_a, i % kM, k) * element(b, stride_b, turn_b, k, i / kM);
    }
    float& c = expected[static_cast<std::size_t>(i / kM * stride_c + i % kM)];
    c = static_cast<float>(2 * sum + double{beta} * double{c});
  }
  CHECK(c_memory.read() == expected);  // what lies between the columns is as it was, too
}

TEST_CASE("products of bf16 matrices are not rounded before they are added") {
  const Blas blas;
  std::vector<std::uint16_t> a(kM * kK);
  Floats values;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto value = static_cast<float>(rueda::test::nearest_bf16(double{rough_value(4, i)}));
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    a[i] = static_cast<std::uint16_t>(bits >> 16);
    values.push_back(value);
  }
  const DeviceVector<std::uint16_t> a_memory(a, blas.stream());
  const DeviceVector<float> c_memory(Floats(kM * kM), blas.stream());
  const float one = 1;
  const float zero = 0;
  CHECK(cublasGemmEx(blas.handle(), CUBLAS_OP_N, CUBLAS_OP_T, kM, kM, kK, &one, a_memory.data(),
                     CUDA_R_16BF, kM, a_memory.data(), CUDA_R_16BF, kM, &zero, c_memory.data(),
                     CUDA_R_32F, kM, CUBLAS_COMPUTE_32F,
                     CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
  const Floats found = c_memory.read();
  for (int i = 0; i < kM * kM; ++i) {
    double sum = 0;
    for (int k = 0; k < kK; ++k) {
      sum +=
          element(values, kM, CUBLAS_OP_N, i % kM, k) * element(values, kM, CUBLAS_OP_N, i / kM, k);
    }
    CHECK(found[static_cast<std::size_t>(i)] == static_cast<float>(sum));
  }
}

TEST_CASE("products of a matrix and a vector, with steps") {
  const auto turned = GENERATE(CUBLAS_OP_N, CUBLAS_OP_T);
  const Blas blas;
  const Floats a = filled<rough_value>(5, kM * kN);
  const int inner = turned == CUBLAS_OP_N ? kN : kM;
  const int rows = turned == CUBLAS_OP_N ? kM : kN;
  const Floats x = filled<rough_value>(6, static_cast<std::size_t>(2 * inner));
  Floats y = filled<rough_value>(7, static_cast<std::size_t>(3 * rows));
  const DeviceVector<float> a_memory(a, blas.stream());
  const DeviceVector<float> x_memory(x, blas.stream());
  const DeviceVector<float> y_memory(y, blas.stream());
  const float one = 1;
  CHECK(cublasSgemv(blas.handle(), turned, kM, kN, &one, a_memory.data(), kM, x_memory.data(), 2,
                    &one, y_memory.data(), 3) == CUBLAS_STATUS_SUCCESS);
  for (int row = 0; row < rows; ++row) {
    double sum = double{y[static_cast<std::size_t>(3 * row)]};
    for (int k = 0; k < inner; ++k) {
      sum += element(a, kM, turned, row, k) * double{x[static_cast<std::size_t>(2 * k)]};
    }
    y[static_cast<std::size_t>(3 * row)] = static_cast<float>(sum);
  }
  const Floats found = y_memory.read();
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(found[i] == Approx(y[i]).epsilon(1e-6));
}

TEST_CASE("a product of matrices that do not lie on the device is refused") {
  const Blas blas;
  Floats host(25);
  const float one = 1;
  CHECK(cublasSgemm(blas.handle(), CUBLAS_OP_N, CUBLAS_OP_N, 5, 5, 5, &one, host.data(), 5,
                    host.data(), 5, &one, host.data(), 5) == CUBLAS_STATUS_INVALID_VALUE);
}
