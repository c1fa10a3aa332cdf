#include "timed_text.hpp"

#include <spdlog/fmt/fmt.h>

#include "rueda/display/number_text.hpp"

namespace rueda {

std::string timed_text(const RunRecord& run) {
  const TimedCompute& t = run.timed.value();
  std::string text = fmt::format("NOTHING IS COMPUTED (--backend timed): each rank waits {:.4g} ms",
                                 t.seconds * 1e3);
  if (t.jitter_percent > 0) text += fmt::format(" +- {} %", setting_text(t.jitter_percent));
  text += fmt::format(" for forward and backward of {}", counted(t.images, "image"));
  if (!t.recorded_in.empty()) text += ", as recorded in " + t.recorded_in;
  return text + "; communication is real, parameters stay as they are, and there is no loss";
}

}  // namespace rueda
