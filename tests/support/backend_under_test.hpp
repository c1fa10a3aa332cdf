#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rueda/backend/backend.hpp"
#include "rueda/backend/precision.hpp"

/// The backend that a test program runs its cases on. Tests name none: each program is linked with
/// one definition of these functions (cpu_under_test.cpp, cuda_under_test.cpp).
namespace rueda::test {

/// One of the ways in which a backend can do the same work.
struct Variant {
  std::string name;
  int number = 0;  ///< for the backend itself
};

/// All whose operations are to be tested.
const std::vector<Variant>& variants();
/// The one that gives the same bits every time, with what is usual otherwise.
const Variant& repeatable_variant();

/// Throws where `precision` is not available.
std::unique_ptr<Backend> open_backend_under_test(const Variant& variant, Precision precision,
                                                 int threads = 1);
inline std::unique_ptr<Backend> open_backend_under_test(Precision precision = Precision::fp32,
                                                        int threads = 1) {
  return open_backend_under_test(repeatable_variant(), precision, threads);
}
bool precision_available(Precision precision);

/// What a convolution's weight gradients are rounded to before they go to the fp32 arena.
Precision weight_gradients_in(Precision precision);
/// How much of a convolution's result may be rounded away before bias and residual are added.
double epilogue_rounding(Precision precision);
/// Whether there are convolutions from or to this number of channels, the image's three apart.
bool convolves_channels(int channels);

/// Pixels a side of the smallest images on which a network of the CIFAR kind trains quickly.
int quick_image_size();

/// Copies to and from any memory that a backend has allocated, when all its work is done.
void write_bytes(std::byte* device, std::span<const std::byte> host);
void read_bytes(std::span<std::byte> host, const std::byte* device);

}  // namespace rueda::test

/// Two cases of `check(Precision)`: `name` in fp32 and "`name` in bf16", which is skipped where
/// there is no bf16.
#define TEST_CASE_OF_PRECISION(name, tags, check)          \
  TEST_CASE(name, tags) { check(rueda::Precision::fp32); } \
  TEST_CASE(name " in bf16", tags "[bf16]") { check(rueda::Precision::bf16); }
