// rueda report --keras-log FILE, and the option's own words: the first line of the input.
#include <algorithm>

#include "rueda/study/logs.hpp"
#include "rueda/study/report.hpp"
#include "tests/fuzz/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const rueda::fuzz::ScratchFile file("run.out");
  const std::span<const std::uint8_t> bytes(data, size);
  const auto line_end = std::ranges::find(bytes, std::uint8_t{'\n'});
  const std::string words(bytes.begin(), line_end);
  file.write(bytes);
  rueda::fuzz::read_or_refuse([&] {
    rueda::KerasLog log;
    log.file = file.path();
    const auto observations = rueda::read_keras_log(log);
    rueda::evaluate(rueda::make_series(observations));
    rueda::acceleration_table(observations);
  });
  rueda::fuzz::read_or_refuse([&] {
    rueda::KerasLog log = rueda::parse_keras_log_option("run.out," + words);
    log.file = file.path();
    rueda::read_keras_log(log);
  });
  return 0;
}
