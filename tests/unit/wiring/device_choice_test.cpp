#include "wiring/device_choice.hpp"

#include <catch2/catch.hpp>

#include "wiring/open_backend.hpp"

using namespace rueda;
using Catch::Matchers::Contains;

TEST_CASE("a rank takes the GPU of its local rank, or the only one that it sees",
          "[device_choice]") {
  const struct {
    std::optional<int> local_rank;
    bool has_peers;
    int visible, ordinal;
    bool is_remarked = false;
  } cases[] = {
      {0, true, 1, 0},        {1, true, 1, 0}, {7, true, 1, 0}, {{}, true, 1, 0},
      {0, true, 4, 0},        {1, true, 4, 1}, {2, true, 4, 2}, {3, true, 4, 3},
      {4, true, 4, 0},        {7, true, 3, 1},  // more ranks than GPUs
      {{}, true, 4, 0, true},                   // without a local rank
      {{}, false, 4, 0},
  };
  for (const auto& c : cases) {
    CAPTURE(c.local_rank.value_or(-1), c.has_peers, c.visible);
    const DeviceChoice choice = choose_device(c.local_rank, c.has_peers, c.visible);
    CHECK(choice.ordinal == c.ordinal);
    CHECK(choice.remark.empty() == !c.is_remarked);
  }
  CHECK_THAT(choose_device({}, true, 4).remark,
             Contains("4 GPUs") && Contains("CUDA_VISIBLE_DEVICES"));
}

TEST_CASE("the CPU is asked for no GPU", "[device_choice]") {
  CHECK_FALSE(wants_cuda(BackendChoice::cpu));
  CHECK(wants_cuda(BackendChoice::cuda));
  const SelectedDevice selected = select_device(BackendChoice::cpu);
  CHECK((selected.uuid.empty() && selected.remark.empty() && !selected.failure));
}

TEST_CASE("ranks that share a GPU are named with it, host by host", "[shared_device]") {
  const std::pair<std::vector<RankPlace>, const char*> cases[] = {
      {{}, ""},
      {{{"a", "GPU-1"}, {"a", "GPU-2"}, {"b", "GPU-3"}}, ""},
      {{{"a", ""}, {"a", ""}, {"a", "GPU-1"}}, ""},
      {{{"a", "GPU-1"}, {"b", "GPU-1"}}, ""},  // they only look alike
      {{{"a", "GPU-1"}, {"a", "GPU-2"}, {"a", "GPU-1"}}, "ranks 0 and 2 on GPU-1 of a"},
      {{{"a", "GPU-1"}, {"a", "GPU-1"}, {"a", "GPU-1"}}, "ranks 0, 1 and 2 on GPU-1 of a"},
      {{{"b", "GPU-2"}, {"a", "GPU-1"}, {"b", "GPU-2"}, {"a", "GPU-1"}},
       "ranks 1 and 3 on GPU-1 of a; ranks 0 and 2 on GPU-2 of b"},
  };
  for (const auto& [ranks, text] : cases) CHECK(shared_devices(ranks) == text);
}
