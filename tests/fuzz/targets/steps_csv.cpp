// A steps.csv.
#include <array>
#include <string_view>

#include "rueda/record/run_json.hpp"
#include "tests/fuzz/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const rueda::fuzz::ScratchFile file("steps.csv");
  file.write({data, size});
  rueda::fuzz::read_or_refuse([] {
    constexpr std::array<std::string_view, 3> kColumns = {"epoch", "seconds", "backward"};
    rueda::for_each_step(file.path(), kColumns, [](std::span<const double>) {});
  });
  return 0;
}
