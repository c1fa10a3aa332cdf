#include "cuda/device/doctor_device.hpp"

#include <vector>

#include <catch2/catch.hpp>

#include "rueda/core/error.hpp"

// Run with CUDA_VISIBLE_DEVICES empty, so that it holds on a machine with a GPU too.
TEST_CASE("a device that is not there is an error, no crash", "[.][no-device]") {
  CHECK_THROWS_AS(rueda::open_cuda_device(0), rueda::RunError);
  CHECK_THROWS_AS(rueda::make_device_exchange_buffer(16), rueda::RunError);
}

TEST_CASE("what a device exchange buffer is given it gives back", "[device]") {
  CHECK(rueda::open_cuda_device(0) > 0);
  const auto buffer = rueda::make_device_exchange_buffer(1000);
  std::vector<float> values(1000), back(1000, -1);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  for (const auto side : {buffer->send_side(), buffer->receive_side()}) {
    CHECK(side.size() == values.size());
    buffer->upload(side, values);
    buffer->download(back, side);
    CHECK(back == values);
  }
}

TEST_CASE("cuDNN tells both of its versions or none", "[doctor]") {
  if (const auto versions = rueda::cudnn_versions()) {
    CHECK(versions->compiled.find('.') != std::string::npos);
    CHECK(versions->loaded.find('.') != std::string::npos);
  }
}
