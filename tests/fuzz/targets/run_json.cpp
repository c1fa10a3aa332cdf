// rueda report DIR: a run.json and all that is made of it.
#include <sstream>

#include "commands/report/report.hpp"
#include "tests/fuzz/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const rueda::fuzz::ScratchFile file("run.json");
  file.write({data, size});
  rueda::fuzz::read_or_refuse([] {
    rueda::ReportOptions options;
    options.places = {file.path().string()};
    options.plots = "off";
    rueda::validate(options);
    std::ostringstream out;
    rueda::run_report(options, out);
  });
  return 0;
}
