#include "device_use.hpp"

#include <cmath>
#include <map>
#include <utility>

namespace rueda {

std::optional<double> epoch_joules(const EpochRecord& epoch, const RunRecord& run) {
  std::map<std::pair<std::string, std::string>, double> of_gpu;
  for (std::size_t rank = 0; rank < epoch.energy_joules.size() && rank < run.ranks.size(); ++rank) {
    // Ranks that share a GPU read its one counter at nearly the same moments.
    of_gpu[{run.ranks[rank].host, run.ranks[rank].uuid}] = epoch.energy_joules[rank];
    if (std::isnan(epoch.energy_joules[rank])) return std::nullopt;
  }
  if (of_gpu.empty()) return std::nullopt;
  double sum = 0;
  for (const auto& [gpu, joules] : of_gpu) sum += joules;
  return sum;
}

}  // namespace rueda
