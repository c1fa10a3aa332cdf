#include <algorithm>
#include <cmath>
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

constexpr double kNear = 10;  ///< joules: what 200 W take in 0.05 s
/// Joules after which counters that are still near are one: 0.5 %.
constexpr double kEnough = 200 * kNear;

/// The counter of a zone.
struct Counter {
  std::string package{};
  std::size_t value = 0;  ///< microjoules
  double begin = 0;       ///< joules that it showed at first
  double advanced = 0;    ///< joules since then, through wraps
  double left_out = 0;    ///< joules that it advanced as the copy of another one
  bool own = false;       ///< known to be no copy

  /// Whether both may be one counter, read at two moments. What they show may differ by a constant;
  /// different counters do not advance alike for long.
  bool is_near(const Counter& other) const { return std::abs(advanced - other.advanced) <= kNear; }
  /// Whether they are one beyond doubt.
  bool is_surely(const Counter& other) const {
    return std::abs(begin - other.begin) <= kNear || advanced > kEnough;
  }
};

/// What packages and DRAM count. Cores and uncore are inside a package, psys is
/// around it, and intel-rapl-mmio shows it again. Some processors show one counter
/// for each die of a package: it counts once, as long as it advances alike.
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
    const Counter first{.value = next, .begin = 1e-6 * double(next)};
    Counter& counter = counters_.try_emplace(zone, first).first->second;
    const std::size_t last = std::exchange(counter.value, next);
    const double joules = 1e-6 * double(next - last + (next < last ? range : 0));
    counter.advanced += joules;
    if (joules <= 10e3 * seconds) return joules;
    throw InputError(zone.string() + "/energy_uj: it jumped by " + std::to_string(joules) + " J");
  }

  /// Of the `joules` that a zone advanced, those to add: none of a copy. What turns out to be no
  /// copy brings along what was left out.
  double count(const fs::path& zone, const std::string& name, double joules) {
    Counter& counter = counters_.at(zone);
    counter.package = package_of(name);
    const Counter* shown = shown_before(zone, counter);
    counter.own = counter.own || shown == nullptr;
    if (counter.own) return joules + std::exchange(counter.left_out, 0);
    if (counter.is_surely(*shown) && !std::exchange(said_, true))
      log_own(LogLevel::info, "dies of " + counter.package + " of " + host_name() +
                                  " show one energy counter, which counts once");
    counter.left_out += joules;
    return 0;
  }

  /// The counter of a zone before this one whose copy it may be, or nullptr.
  const Counter* shown_before(const fs::path& zone, const Counter& counter) const {
    for (const auto& [other, shown] : counters_) {
      if (other == zone || counter.package.empty()) break;
      if (shown.own && shown.package == counter.package && counter.is_near(shown)) return &shown;
    }
    return nullptr;
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
