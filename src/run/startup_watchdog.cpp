#include "startup_watchdog.hpp"

namespace rueda {
namespace {

constexpr double kPatience = 10;

}  // namespace

void PatientWatch::begin(const TrainConfig& config, const Communicator& world) {
  if (config.stall_seconds == 0 || world.size() == 1) return;
  watchdog_.emplace(Watched{.rank = world.rank(),
                            .host = world.host(),
                            .journal = no_sums_,
                            .seconds = kPatience * static_cast<double>(config.stall_seconds)});
}

}  // namespace rueda
