#include <fstream>
#include <map>
#include <utility>

#include "rueda/backend/device_monitor.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/files.hpp"
#include "rueda/core/machine.hpp"
#include "rueda/core/text.hpp"
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

/// What packages and DRAM count. Cores and uncore are inside a package, psys is
/// around it, and intel-rapl-mmio shows it again.
class HostEnergy final : public DeviceMonitor {
 public:
  explicit HostEnergy(fs::path tree) : tree_(std::move(tree)) { energy_joules(); }

  double energy_joules() override {
    const double now = steady_seconds();
    const double seconds =
        now - std::exchange(read_at_, now) + 0.1;  // the thread that watches may read late
    try {
      std::error_code none;  // without the framework there is no such folder
      for (const fs::path& zone : entries_of(tree_, none)) {
        if (!zone.filename().string().starts_with("intel-rapl:")) continue;
        const std::string name = line_of(zone / "name");
        if (name.starts_with("package") || name == "dram") joules_ += advance(zone, seconds);
      }
    } catch (const std::exception& error) {  // from now on nothing is known
      trouble_ = "training goes on without the energy of " + host_name() + ": " + error.what();
      tree_.clear();
      last_.clear();
    }
    return last_.empty() ? DeviceSample::kUnknown : joules_;
  }
  DeviceSample sample() override { return energy_joules(), DeviceSample(); }
  std::string take_trouble() override { return std::exchange(trouble_, ""); }

 private:
  /// Joules since the last call. No package takes more than 10 kW, so a counter
  /// that grew more in `seconds` has jumped.
  double advance(const fs::path& zone, double seconds) {
    const std::size_t range = number_in(zone / "max_energy_range_uj", 1, SIZE_MAX);
    const std::size_t next = number_in(zone / "energy_uj", 0, range);
    const std::size_t last = std::exchange(last_.try_emplace(zone, next).first->second, next);
    const double joules = 1e-6 * double(next - last + (next < last ? range : 0));
    if (joules <= 10e3 * seconds) return joules;
    throw InputError(zone.string() + "/energy_uj: it jumped by " + std::to_string(joules) + " J");
  }

  fs::path tree_;
  std::map<fs::path, std::size_t> last_;  ///< microjoules, by zone
  double joules_ = 0, read_at_ = steady_seconds();
  std::string trouble_;
};

}  // namespace

std::unique_ptr<DeviceMonitor> open_host_monitor(const char* tree) {
  return std::make_unique<HostEnergy>(tree == nullptr ? "/sys/class/powercap" : tree);
}

}  // namespace rueda
