#include "step_checks.hpp"

#include <bit>
#include <csignal>
#include <cstdint>
#include <limits>

namespace rueda {
namespace {

/// The lowest bit: too small to be seen in any loss, which is what the replica check is for.
float bit_flipped(float value) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1U);
}

void overwrite(Replica& replica, std::size_t element, float (*change)(float)) {
  const std::span<float> at = replica.parameters().subspan(element, 1);
  float value = 0;
  replica.backend().download({&value, 1}, at);
  value = change(value);
  replica.backend().upload(at, {&value, 1});
}

}  // namespace

void inject_fault(const InjectedFault& fault, std::size_t rank, std::size_t step,
                  Replica& replica) {
  if (static_cast<std::size_t>(fault.rank) != rank || fault.step != step) return;
  switch (fault.kind) {
    case InjectedFault::Kind::none:
    case InjectedFault::Kind::corrupt_message:  // injected where messages arrive
      return;
    case InjectedFault::Kind::flip_bit:
      overwrite(replica, replica.parameters().size() / 2, bit_flipped);
      return;
    case InjectedFault::Kind::nan:
      overwrite(replica, 0, [](float) { return std::numeric_limits<float>::quiet_NaN(); });
      return;
    case InjectedFault::Kind::kill:
      std::raise(SIGKILL);
      return;
    case InjectedFault::Kind::stop:
      std::raise(SIGTERM);
      return;
    case InjectedFault::Kind::hang:
      std::raise(SIGSTOP);
      return;
  }
}

void stop_unless_finite(RankGroup& group, bool finite, const std::string& what) {
  std::string culprits;
  for (const std::size_t rank : ranks_where(group, !finite)) {
    culprits += (culprits.empty() ? "" : ", ") + std::to_string(rank);
  }
  if (culprits.empty()) return;
  throw_agreed(ExitCode::run_failed,
               what + " on rank " + culprits +
                   ": lower --lr (or use --scale-lr none, --warmup-epochs), or look at the data");
}

bool reaches_target(const TrainConfig& config, const EpochRecord& epoch) {
  if (!config.target_accuracy) return false;
  if (config.eval_every != 0) return epoch.test && epoch.test->accuracy >= *config.target_accuracy;
  return epoch.train.accuracy >= *config.target_accuracy;
}

}  // namespace rueda
