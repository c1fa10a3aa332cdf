#include "finite.hpp"

#include "rueda/reduce/agreement.hpp"

namespace rueda {

void stop_unless_finite(RankGroup& group, bool finite, const std::string& what) {
  std::string culprits;
  const auto flags = all_gather_text(group, finite ? "" : "x");
  for (std::size_t r = 0; r < flags.size(); ++r) {
    if (!flags[r].empty()) culprits += (culprits.empty() ? "" : ", ") + std::to_string(r);
  }
  if (culprits.empty()) return;
  throw_agreed(ExitCode::run_failed,
               what + " on rank " + culprits +
                   ": lower --lr (or use --scale-lr none, --warmup-epochs), or look at the data");
}

}  // namespace rueda
