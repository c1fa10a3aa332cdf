#include "wiring/device_choice.hpp"

#include <catch2/catch.hpp>

#include "wiring/open_backend.hpp"

using Catch::Matchers::Contains;
using rueda::BackendChoice;
using rueda::choose_device;

TEST_CASE("a rank that sees one GPU takes it, whatever its number", "[device_choice]") {
  for (const int local_rank : {0, 1, 7}) {
    CHECK(choose_device(local_rank, true, 1).ordinal == 0);
    CHECK(choose_device(local_rank, true, 1).remark.empty());
  }
  CHECK(choose_device({}, true, 1).remark.empty());
}

TEST_CASE("ranks that see all GPUs take them by local rank", "[device_choice]") {
  for (const int local_rank : {0, 1, 2, 3}) {
    CHECK(choose_device(local_rank, true, 4).ordinal == local_rank);
    CHECK(choose_device(local_rank, true, 4).remark.empty());
  }
}

TEST_CASE("more ranks than GPUs begin again with the first", "[device_choice]") {
  CHECK(choose_device(4, true, 4).ordinal == 0);
  CHECK(choose_device(7, true, 3).ordinal == 1);
}

TEST_CASE("without a local rank the first is taken, and several ranks are told",
          "[device_choice]") {
  const auto among_others = choose_device({}, true, 4);
  CHECK(among_others.ordinal == 0);
  CHECK_THAT(among_others.remark, Contains("4 GPUs") && Contains("CUDA_VISIBLE_DEVICES"));
  const auto alone = choose_device({}, false, 4);
  CHECK(alone.ordinal == 0);
  CHECK(alone.remark.empty());
}

TEST_CASE("the CPU is asked for no GPU", "[device_choice]") {
  CHECK_FALSE(rueda::wants_cuda(BackendChoice::cpu));
  CHECK(rueda::wants_cuda(BackendChoice::cuda));
  const auto selected = rueda::select_device(BackendChoice::cpu);
  CHECK(selected.uuid.empty());
  CHECK(selected.remark.empty());
  CHECK_FALSE(selected.failure);
}

TEST_CASE("ranks with GPUs of their own, or with none, share nothing", "[shared_device]") {
  CHECK(rueda::shared_devices({}).empty());
  CHECK(rueda::shared_devices({{"a", "GPU-1"}, {"a", "GPU-2"}, {"b", "GPU-3"}}).empty());
  CHECK(rueda::shared_devices({{"a", ""}, {"a", ""}, {"a", "GPU-1"}}).empty());
}

TEST_CASE("ranks on one GPU are named with it", "[shared_device]") {
  CHECK(rueda::shared_devices({{"a", "GPU-1"}, {"a", "GPU-2"}, {"a", "GPU-1"}}) ==
        "ranks 0 and 2 on GPU-1 of a");
  CHECK(rueda::shared_devices({{"a", "GPU-1"}, {"a", "GPU-1"}, {"a", "GPU-1"}}) ==
        "ranks 0, 1 and 2 on GPU-1 of a");
  CHECK(rueda::shared_devices({{"b", "GPU-2"}, {"a", "GPU-1"}, {"b", "GPU-2"}, {"a", "GPU-1"}}) ==
        "ranks 1 and 3 on GPU-1 of a; ranks 0 and 2 on GPU-2 of b");
}

TEST_CASE("hosts tell GPUs apart that look alike", "[shared_device]") {
  CHECK(rueda::shared_devices({{"a", "GPU-1"}, {"b", "GPU-1"}}).empty());
}
