// rueda train --config FILE, as far as it is read.
#include "cli/cli.hpp"
#include "tests/fuzz/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const rueda::fuzz::ScratchFile file("recipe.toml");
  file.write({data, size});
  rueda::fuzz::read_or_refuse([] {
    rueda::parse_command_line({"train", "--config", file.path().string()});
  });
  return 0;
}
