// A record of rueda bench all-reduce.
#include "rueda/predict/cost_fit.hpp"
#include "tests/fuzz/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const rueda::fuzz::ScratchFile file("bench.json");
  file.write({data, size});
  rueda::fuzz::read_or_refuse([] { rueda::predict::read_bench(file.path()); });
  return 0;
}
