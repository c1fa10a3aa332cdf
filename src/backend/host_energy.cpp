#include <algorithm>
#include <fstream>
#include <map>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "rueda/backend/device_monitor.hpp"
#include "rueda/reduce/rank_group.hpp"

namespace rueda {
namespace {

/// The first line. The kernel gives these files no true size, so read_whole refuses them.
std::string line_of(const fs::path& path) {
  const InputFile file{path, path.string(),
                       "since Linux 5.10 only root may read the counters: sudo chmod a+r "
                       "/sys/class/powercap/intel-rapl:*/energy_uj"};
  require_regular_file(file, 1 << 20);
  std::ifstream stream(path);
  std::string line;
  if (!std::getline(stream, line)) file.refuse("it cannot be read");
  return line;
}

std::size_t number_in(const fs::path& path, std::size_t least, std::size_t most) {
  const std::string line = line_of(path);
  std::string_view rest = line;
  const auto number = take_number(rest);
  if (number && rest.empty() && *number >= least && *number <= most) return *number;
  throw InputError(path.string() + ": '" + printable(line) + "' is no such number");
}

/// "package-0" of the dies "package-0-die-0" and "package-0-die-1"; empty of what is no die.
std::string package_of(const std::string& name) {
  const auto end = name.find("-die-");
  if (end == name.npos) return "";
  return name.substr(0, end);
}

/// The counter of a zone, in microjoules.
struct Counter {
  std::string package{};
  std::size_t value = 0, range = 0;
  double left_out = 0;  ///< joules that it advanced as the copy of another one
  bool own = false;     ///< known to be no copy

  /// Whether both may be one counter, read at two moments. Different ones lie anywhere in their
  /// range, which is some ten thousand times as wide.
  bool is_near(const Counter& other) const {
    constexpr std::size_t kNear = 10'000'000;  // what 200 W take in 0.05 s
    const std::size_t apart = std::max(value, other.value) - std::min(value, other.value);
    return std::min(apart, range - std::min(range, apart)) <= kNear;
  }
};

/// What packages and DRAM count. Cores and uncore are inside a package, psys is
/// around it, and intel-rapl-mmio shows it again. Some processors show one counter
/// for each die of a package: it counts once, as long as it is the same.
class HostEnergy final : public DeviceMonitor {
 public:
  explicit HostEnergy(fs::path tree) : tree_(std::move(tree)) { energy_joules(); }

  double energy_joules() override {
    const double now = steady_seconds();
    const double seconds =
        now - std::exchange(read_at_, now) + 0.1;  // the thread that watches may read late
    try {
      std::error_code none;  // without the framework there is no such folder
      std::vector<fs::path> zones = entries_of(tree_, none);
      std::ranges::sort(zones);
      for (const fs::path& zone : zones) {
        if (!zone.filename().string().starts_with("intel-rapl:")) continue;
        const std::string name = line_of(zone / "name");
        if (name.starts_with("package") || name == "dram")
          joules_ += count(zone, name, advance(zone, seconds));
      }
    } catch (const std::exception& error) {  // from now on nothing is known
      log_own(LogLevel::warn,
              "training goes on without the energy of " + host_name() + ": " + error.what());
      tree_.clear();
      counters_.clear();
    }
    if (counters_.empty()) return DeviceSample::kUnknown;
    return joules_;
  }
  DeviceSample sample() override { return energy_joules(), DeviceSample(); }

 private:
  /// Joules since the last call. No package takes more than 10 kW, so a counter
  /// that grew more in `seconds` has jumped.
  double advance(const fs::path& zone, double seconds) {
    const std::size_t range = number_in(zone / "max_energy_range_uj", 1, SIZE_MAX);
    const std::size_t next = number_in(zone / "energy_uj", 0, range);
    Counter& counter = counters_.try_emplace(zone, Counter{.value = next}).first->second;
    const std::size_t last = std::exchange(counter.value, next);
    counter.range = range;
    const double joules = 1e-6 * double(next - last + (next < last ? range : 0));
    if (joules <= 10e3 * seconds) return joules;
    throw InputError(zone.string() + "/energy_uj: it jumped by " + std::to_string(joules) + " J");
  }

  /// Of the `joules` that a zone advanced, those to add: none of a copy. What turns out to be no
  /// copy brings along what was left out.
  double count(const fs::path& zone, const std::string& name, double joules) {
    Counter& counter = counters_.at(zone);
    counter.package = package_of(name);
    counter.own = counter.own || shows_before(zone, counter).empty();
    if (counter.own) return joules + std::exchange(counter.left_out, 0);
    if (!std::exchange(said_, true))
      log_own(LogLevel::info, "dies of " + counter.package + " of " + host_name() +
                                  " show one energy counter, which counts once");
    counter.left_out += joules;
    return 0;
  }

  /// The zone read before whose counter this one may be; empty: none.
  fs::path shows_before(const fs::path& zone, const Counter& counter) const {
    for (const auto& [other, shown] : counters_) {
      if (other == zone || counter.package.empty()) break;
      if (shown.own && shown.package == counter.package && counter.is_near(shown)) return other;
    }
    return {};
  }

  fs::path tree_;
  std::map<fs::path, Counter> counters_;  ///< by zone
  double joules_ = 0, read_at_ = steady_seconds();
  bool said_ = false;  ///< that dies show one counter
};

}  // namespace

std::unique_ptr<DeviceMonitor> open_host_monitor(const char* tree) {
  return std::make_unique<HostEnergy>(tree == nullptr ? "/sys/class/powercap" : tree);
}

}  // namespace rueda
