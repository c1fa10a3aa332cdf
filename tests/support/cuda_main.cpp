// The one main of the tests of the CUDA part. Cases tagged [device] need a GPU, and so do those of
// the backend under test, [backend]; they are skipped where there is none.
#include "cuda/device/device_query.hpp"
#include "skipping_main.hpp"

int main(int argc, char** argv) {
  return rueda::test::run_skipping(argc, argv, []() -> std::vector<rueda::test::Missing> {
    const auto found = rueda::cuda_devices();
    if (!found.visible.empty()) return {};
    const std::string reason = "no CUDA device: " + found.reason;
    return {{"[device]", reason}, {"[backend]", reason}};
  });
}
