// A data set in a .tar or .tar.gz, with all that is in it.
#include "rueda/data/cifar10.hpp"
#include "tests/fuzz/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const rueda::fuzz::ScratchFile file("set.tar.gz");
  file.write({data, size});
  rueda::fuzz::read_or_refuse([] { rueda::read_cifar10(file.path()); });
  return 0;
}
