// An attempt.json, which a study's script leaves of a run that failed.
#include "rueda/study/study.hpp"
#include "tests/fuzz/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const rueda::fuzz::ScratchFile file("attempt.json");
  file.write({data, size});
  rueda::fuzz::read_or_refuse([] { rueda::load_study({file.directory()}); });
  return 0;
}
