#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/statistics.hpp"
#include "rueda/train/run_record.hpp"

namespace rueda {

using Epochs = std::span<const EpochRecord>;

/// The sums of the steps' records, or those that were kept where the records were released.
EpochSums sums_of(const EpochRecord& epoch, std::size_t global_batch);

StepBreakdown break_down(Epochs epochs, std::size_t global_batch, StepKind kind);

/// The last epochs that follow a first one, up to the next first one; none
/// unless they are of as many ranks as the last epoch. An epoch is a first one
/// if a process `resumed` the run in it.
template <typename Epoch, typename Resumed, typename Ranks>
std::span<const Epoch> steady_stretch(std::span<const Epoch> epochs, Resumed resumed, Ranks ranks) {
  const auto is_first = [&](std::size_t i) { return i == 0 || std::invoke(resumed, epochs[i]); };
  std::size_t end = epochs.size();
  while (end > 0 && is_first(end - 1)) --end;
  std::size_t begin = end;
  while (begin > 0 && !is_first(begin - 1)) --begin;
  if (begin == end || std::invoke(ranks, epochs[begin]) != std::invoke(ranks, epochs.back()))
    return {};
  return epochs.subspan(begin, end - begin);
}

/// The epochs of the steady state (steady_stretch). Where there are none, the
/// last epoch stands for them.
struct SteadyState {
  Epochs epochs;
  std::size_t ranks = 0;          ///< of these epochs; without epochs those of the run
  bool includes_warm_up = false;  ///< there are no others than first epochs
  double epoch_seconds = 0;       ///< median; NaN without epochs
  double images_per_second = 0;   ///< images of an epoch / epoch_seconds; NaN without epochs
  EfficiencySeconds efficiency;   ///< median_epoch
};

/// The spans point into `run`.
SteadyState steady_state(const RunRecord& run);

/// The seconds that an epoch's efficiency follows from: of the steps' records, or
/// as they were kept where the records were released. All but `seconds` are NaN
/// where an earlier process took some of the steps.
EfficiencySeconds efficiency_seconds(const EpochRecord& epoch);
/// The epoch of median `seconds`; of an even count the means of the middle two.
/// So its `seconds` are exactly the median of all. NaN where there are none.
EfficiencySeconds median_epoch(std::vector<EfficiencySeconds> epochs);

/// Whether the rank runs more threads than it has cores: ranks, or its own
/// threads, take these from each other, and its core share shows no other cause.
bool lacks_cores(const RankInfo& rank) noexcept;

/// A rank that got too little of its cores.
struct Disturbance {
  std::size_t rank = 0;
  std::size_t steps = 0;  ///< in which it did
  double share = 0;       ///< of the cores' time in these, 0 to 1
};
/// The rank that got least among those that were disturbed (is_disturbed) in at
/// least three steps in a row; none where the steps' records were released.
std::optional<Disturbance> disturbance_in(const EpochRecord& epoch);
/// The disturbance in words, with the remedy; empty: there was none, or one of
/// `ranks`, all of the run, lacks cores, which its start has told.
std::string disturbance_text(const EpochRecord& epoch, const std::vector<RankInfo>& ranks);

/// A start-up item over the ranks that have it, in order of first appearance.
std::vector<std::pair<std::string, Spread>> startup_items(const std::vector<RankInfo>& ranks);
/// The longest start-up of a rank, all items together, in seconds.
double startup_seconds(const std::vector<RankInfo>& ranks);

/// One quantity of a DeviceSample and how it is shown.
struct DeviceQuantity {
  const char* name;  ///< in run.json
  double DeviceSample::*value;
  const char* label;  ///< in the result table
  double unit;        ///< divides it there
};

inline constexpr std::array kDeviceQuantities = {
    DeviceQuantity{"utilization", &DeviceSample::utilization, "utilisation, %", 0.01},
    DeviceQuantity{"memory_bytes", &DeviceSample::memory_bytes, "memory, GB", 1e9},
    DeviceQuantity{"sm_clock_hz", &DeviceSample::sm_clock_hz, "SM clock, MHz", 1e6},
    DeviceQuantity{"memory_clock_hz", &DeviceSample::memory_clock_hz, "memory clock, MHz", 1e6},
    DeviceQuantity{"power_watts", &DeviceSample::power_watts, "power, W", 1},
    DeviceQuantity{"temperature_celsius", &DeviceSample::temperature_celsius, "temperature, C", 1},
};

/// Over all epochs.
double training_seconds(const RunRecord& run);
double evaluation_seconds(const RunRecord& run);
/// NaN where an epoch does not know its own.
double bookkeeping_seconds(const RunRecord& run);
double clock_seconds(const RunRecord& run);

/// The energy of the steps of all epochs, those of earlier processes included. It
/// is unknown where one epoch does not know its own.
Energy run_energy(const RunRecord& run);

}  // namespace rueda
