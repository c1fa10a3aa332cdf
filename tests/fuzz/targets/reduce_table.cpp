// rueda train --reduce-table FILE.
#include "tests/fuzz/target.hpp"
#include "wiring/reduce_tables.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = rueda::fuzz::text_of({data, size});
  rueda::fuzz::read_or_refuse([&] {
    rueda::parse_reduce_table(text, "table.json", {{0, 0}, "cpu", "host"});
  });
  return 0;
}
