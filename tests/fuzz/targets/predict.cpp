// rueda predict RUN.JSON: what is fitted to a run, and the tables.
#include "commands/predict/predict.hpp"

#include <sstream>

#include "tests/fuzz/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const rueda::fuzz::ScratchFile file("run.json");
  file.write({data, size});
  rueda::fuzz::read_or_refuse([] {
    rueda::PredictOptions options;
    options.runs = {file.path().string()};
    options.rank_words = "1,2,3";
    rueda::validate(options);
    std::ostringstream out;
    rueda::run_predict(options, out);
  });
  return 0;
}
