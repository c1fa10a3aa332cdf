#include <thread>

#include <catch2/catch.hpp>
#include <cuda_runtime_api.h>

#include "cuda/device/device_query.hpp"
#include "rueda/core/error.hpp"

TEST_CASE("the selected device is the thread's current one", "[device]") {
  const int last = static_cast<int>(rueda::cuda_devices().devices.size()) - 1;
  std::thread([last] {  // a thread of its own, since others begin with device 0
    rueda::cuda::select_device(last);
    int current = -1;
    CHECK(cudaGetDevice(&current) == cudaSuccess);
    CHECK(current == last);
  })
      .join();
}

TEST_CASE("a device that does not exist is an error") {
  CHECK_THROWS_AS(rueda::cuda::select_device(12345), rueda::RunError);
  static_cast<void>(cudaGetLastError());
}
