#include <catch2/catch.hpp>

#include "wiring/shared_device_check.hpp"

using rueda::shared_devices;

TEST_CASE("ranks with GPUs of their own, or with none, share nothing", "[shared_device]") {
  CHECK(shared_devices({}).empty());
  CHECK(shared_devices({{"a", "GPU-1"}, {"a", "GPU-2"}, {"b", "GPU-3"}}).empty());
  CHECK(shared_devices({{"a", ""}, {"a", ""}, {"a", "GPU-1"}}).empty());
}

TEST_CASE("ranks on one GPU are named with it", "[shared_device]") {
  CHECK(shared_devices({{"a", "GPU-1"}, {"a", "GPU-2"}, {"a", "GPU-1"}}) ==
        "ranks 0 and 2 on GPU-1 of a");
  CHECK(shared_devices({{"a", "GPU-1"}, {"a", "GPU-1"}, {"a", "GPU-1"}}) ==
        "ranks 0, 1 and 2 on GPU-1 of a");
  CHECK(shared_devices({{"b", "GPU-2"}, {"a", "GPU-1"}, {"b", "GPU-2"}, {"a", "GPU-1"}}) ==
        "ranks 1 and 3 on GPU-1 of a; ranks 0 and 2 on GPU-2 of b");
}

TEST_CASE("hosts tell GPUs apart that look alike", "[shared_device]") {
  CHECK(shared_devices({{"a", "GPU-1"}, {"b", "GPU-1"}}).empty());
}
