#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include <spdlog/fmt/fmt.h>

#include "record/device_use.hpp"
#include "rueda/display/number_text.hpp"
#include "rueda/display/text_table.hpp"
#include "rueda/record/statistics.hpp"
#include "time_table.hpp"

namespace rueda {
namespace {

std::vector<double> values_of(const RunRecord& run, const DeviceQuantity& quantity) {
  std::vector<double> values;
  for (const auto& samples : run.gpu_samples) {
    for (const DeviceSample& sample : samples) {
      const double value = sample.*quantity.value;
      if (!std::isnan(value)) values.push_back(value / quantity.unit);
    }
  }
  return values;
}

bool are_shared(const std::vector<RankInfo>& ranks) {
  std::map<std::pair<std::string, std::string>, int> users;
  for (const RankInfo& rank : ranks) {
    if (!rank.uuid.empty() && ++users[{rank.host, rank.uuid}] > 1) return true;
  }
  return false;
}

std::string energy_line(const RunRecord& run) {
  double joules = 0;
  double images = 0;
  for (const EpochRecord& epoch : run.epochs) {
    const auto of_epoch = epoch_joules(epoch, run);
    if (!of_epoch) return "";
    joules += *of_epoch;
    images += static_cast<double>(epoch.train.samples);
  }
  if (joules <= 0) return "";
  return fmt::format("  energy of the training steps: {} J, {} images/J{}\n", rate_text(joules),
                     rate_text(images / joules),
                     are_shared(run.ranks) ? " (shared GPUs counted once)" : "");
}

}  // namespace

std::string device_table(const RunRecord& run) {
  TextTable table({Align::left, Align::right, Align::right, Align::right}, 2);
  table.add({"each second", "mean", "min", "max"});
  bool told = false;
  for (const DeviceQuantity& quantity : kDeviceQuantities) {
    const Spread s = spread_of(values_of(run, quantity));
    if (s.count == 0) continue;
    told = true;
    table.add({quantity.label, rate_text(s.mean), rate_text(s.min), rate_text(s.max)});
  }
  const std::string energy = energy_line(run);
  if (!told && energy.empty()) return "";
  return "GPUs\n" + (told ? table.text() : "") + energy;
}

}  // namespace rueda
