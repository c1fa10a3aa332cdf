// rueda train --resume: a checkpoint's manifest, and the history of finished epochs. The checksum
// in a manifest keeps no enemy away, so it is put right first.
#include <cstdio>

#include <zlib.h>

#include "rueda/checkpoint/checkpoint.hpp"
#include "rueda/record/run_json.hpp"
#include "tests/fuzz/target.hpp"

namespace {

void seal(std::string& text) {
  constexpr std::string_view kField = "\"manifest_crc32\": \"";
  const std::size_t field = text.rfind(kField);
  if (field == text.npos || text.size() - field < kField.size() + 8) return;
  text.replace(field + kField.size(), 8, "00000000");
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08lx", crc32_z(0, bytes, text.size()));
  text.replace(field + kField.size(), 8, digits);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text = rueda::fuzz::text_of({data, size});
  rueda::fuzz::read_or_refuse([&] {
    rueda::RunRecord run;
    rueda::restore_history(run, text, "history");
  });
  seal(text);
  rueda::fuzz::read_or_refuse([&] { rueda::parse_manifest(text, "checkpoint"); });
  return 0;
}
