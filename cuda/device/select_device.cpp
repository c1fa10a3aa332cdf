#include "select_device.hpp"

#include "check.hpp"

namespace rueda::cuda {

void select_device(int ordinal) {
  check(cudaSetDevice(ordinal), "cudaSetDevice");
  check(cudaFree(nullptr), "cudaFree");  // does nothing but what every first call does
}

}  // namespace rueda::cuda
