// rueda train --tuning-file FILE.
#include "tests/fuzz/target.hpp"
#include "wiring/open_backend.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = rueda::fuzz::text_of({data, size});
  rueda::fuzz::read_or_refuse([&] {
    const rueda::Tuning tuning = rueda::parse_tuning(text, "tuning.json");
    rueda::check_tuning(tuning, "tuning.json", "GPU", "9.0.0");
  });
  return 0;
}
