#include "cuda/device/device_query.hpp"

#include <set>
#include <string>

#include <catch2/catch.hpp>
#include <cuda_runtime_api.h>
#if RUEDA_WITH_CUDNN
#include <cudnn_version.h>
#endif

using Catch::Matchers::Contains;

TEST_CASE("cuda_devices gives devices or a reason, never both") {
  const auto found = rueda::cuda_devices();
  CHECK(found.devices.empty() != found.reason.empty());
  CHECK(found.runtime_version == CUDART_VERSION);
}

// Run with CUDA_VISIBLE_DEVICES empty, so that it holds on a machine with a GPU too.
TEST_CASE("cuda_devices without a device gives the reason", "[.][no-device]") {
  const auto found = rueda::cuda_devices();
  CHECK(found.devices.empty());
  CHECK_THAT(found.reason, Contains("driver"));
  CHECK(rueda::cuda_devices().reason == found.reason);
}

TEST_CASE("every device is described", "[device]") {
  const auto found = rueda::cuda_devices();
  std::set<std::string> uuids;
  for (std::size_t i = 0; i < found.devices.size(); ++i) {
    const auto& device = found.devices[i];
    CHECK(device.ordinal == static_cast<int>(i));
    CHECK_FALSE(device.name.empty());
    CHECK(device.capability_major >= 5);
    CHECK(device.memory_bytes > 0);
    CHECK(device.uuid.size() == 40);
    CHECK(uuids.insert(device.uuid).second);
  }
}

TEST_CASE("the reason names what is missing and what to do") {
  using rueda::cuda::no_device_reason;
  CHECK_THAT(no_device_reason(0, 13000, "insufficient"),
             Contains("no CUDA driver") && Contains("install"));
  CHECK_THAT(no_device_reason(12040, 13000, "insufficient"),
             Contains("12.4") && Contains("13.0") && Contains("too old"));
  CHECK_THAT(no_device_reason(13000, 13000, "no CUDA-capable device is detected"),
             Contains("no CUDA-capable device is detected") && Contains("CUDA_VISIBLE_DEVICES"));
  CHECK_THAT(no_device_reason(12000, 12080, "none"), !Contains("too old"));
}

TEST_CASE("versions read as people write them") {
  CHECK(rueda::cuda::cuda_version_text(13000) == "13.0");
  CHECK(rueda::cuda::cuda_version_text(12080) == "12.8");
  CHECK(rueda::cuda::cudnn_version_text(91900) == "9.19.0");
  CHECK(rueda::cuda::cudnn_version_text(90102) == "9.1.2");
}

TEST_CASE("a UUID reads as nvidia-smi writes it") {
  const unsigned char bytes[16] = {0x8f, 0x2c, 0x00, 0x01, 0xa0, 0x0b, 0x4c, 0x0d,
                                   0x9e, 0xff, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60};
  CHECK(rueda::cuda::uuid_text(bytes) == "GPU-8f2c0001-a00b-4c0d-9eff-102030405060");
}

TEST_CASE("the loaded libraries tell their versions") {
  const auto versions = rueda::cuda_component_versions();
  REQUIRE_FALSE(versions.empty());
  CHECK(versions[0].first == "CUDA");
  CHECK(versions[0].second == rueda::cuda::cuda_version_text(CUDART_VERSION));
#if RUEDA_WITH_CUDNN
  REQUIRE(versions.size() == 2);
  CHECK(versions[1].first == "cuDNN");
  CHECK_THAT(versions[1].second, Catch::StartsWith(std::to_string(CUDNN_MAJOR) + "."));
#else
  CHECK(versions.size() == 1);
#endif
}
