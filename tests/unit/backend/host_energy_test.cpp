#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "base/files.hpp"
#include "rueda/backend/device_monitor.hpp"
#include "tests/support/common.hpp"
#include "tests/support/logged_text.hpp"

namespace rueda {
namespace {

using Catch::Contains;
using test::LoggedText;

constexpr std::size_t kCounterRange = 262'143'328'850;  // microjoules

/// What stands in for /sys/class/powercap.
struct Tree : test::ScratchDirectory {
  void add(const std::string& zone, const std::string& name, std::size_t energy,
           std::size_t range = kCounterRange) const {
    write(zone + "/name", name + "\n");
    write(zone + "/max_energy_range_uj", std::to_string(range) + "\n");
    set(zone, energy);
  }
  void set(const std::string& zone, std::size_t energy) const {
    write(zone + "/energy_uj", std::to_string(energy) + "\n");
  }
  std::unique_ptr<DeviceMonitor> open() const { return open_host_monitor(path().c_str()); }
};

TEST_CASE("host energy: packages and DRAM, each once, through wraps", "[energy]") {
  LoggedText logged;
  const Tree tree;
  CHECK(std::isnan(tree.open()->energy_joules()));
  CHECK(std::isnan(open_host_monitor("/none")->energy_joules()));
  CHECK(logged.take().empty());
  const auto set = [&tree](std::size_t i) {
    tree.add("intel-rapl:0", "package-0",
             (kCounterRange - 100'000'000 + i * 30'000'000) % kCounterRange);
    tree.add("intel-rapl:0:0", "core", i * 7'000'000);
    tree.add("intel-rapl:0:1", "dram", i * 20'000'000 % 65'000'000, 65'000'000);
    tree.add("intel-rapl:1", "package-1", 5 + i * 40'000'000);
    tree.add("intel-rapl:2", "psys", i * 7'000'000);
    tree.add("intel-rapl-mmio:0", "package-0", i * 30'000'000);
  };
  set(0);
  const auto host = tree.open();
  for (std::size_t i = 0; i <= 20; ++i) {
    set(i);
    CHECK(host->energy_joules() == Approx(double(i) * (30 + 20 + 40)).epsilon(0.01));
  }
  CHECK(logged.take().empty());
}

TEST_CASE("host energy: dies of a package that show one counter count once", "[energy]") {
  const int dies = GENERATE(2, 4);
  const std::size_t skew = GENERATE(0, 900'000);  // the counter goes on between two readings
  CAPTURE(dies, skew);
  const Tree tree;
  const auto set = [&](std::size_t i) {
    for (std::size_t die = 0; die < std::size_t(dies); ++die)
      tree.add("intel-rapl:" + std::to_string(die), "package-0-die-" + std::to_string(die),
               (kCounterRange - 250'000'000 + i * 100'000'000 + die * skew) % kCounterRange);
    tree.add("intel-rapl:8", "package-1-die-0", i * 30'000'000);  // another package
  };
  set(0);
  LoggedText logged;
  const auto host = tree.open();
  CHECK_THAT(logged.take(), Contains("note: rank 0: dies of package-0 of ") &&
                                Contains("one energy counter, which counts once"));
  for (std::size_t i = 0; i <= 10; ++i) {
    set(i);
    CHECK(host->energy_joules() == Approx(double(i) * (100 + 30)).epsilon(1e-6));
  }
  CHECK(logged.take().empty());
}

TEST_CASE("host energy: dies with counters of their own are added, however they begin",
          "[energy]") {
  const auto begin = GENERATE(as<std::size_t>(), 0, 1'000'000, 7'000'000'000);  // of the second die
  CAPTURE(begin);
  const Tree tree;
  const auto set = [&](std::size_t i) {
    tree.add("intel-rapl:0", "package-0-die-0", i * 50'000'000);
    tree.add("intel-rapl:1", "package-0-die-1", begin + i * 47'000'000);
  };
  set(0);
  const auto host = tree.open();
  for (std::size_t i = 1; i <= 10; ++i) {
    set(i);
    const double joules = host->energy_joules();
    // By then they differ by more than two readings of one counter can.
    if (i >= 4) CHECK(joules == Approx(double(i) * (50 + 47)).epsilon(1e-6));
  }
}

TEST_CASE("host energy: dies that advance alike show one counter, whatever they began with",
          "[energy]") {
  LoggedText logged;
  const Tree tree;
  const auto set = [&](std::size_t i) {
    const std::size_t now = i * 100'000'000;
    for (std::size_t die = 0; die < 4; ++die) {
      // Two show a value, two another one, which wraps on the way.
      const std::size_t begin = die < 2 ? 5'000'000 : kCounterRange - 250'000'000;
      tree.add("intel-rapl:" + std::to_string(die), "package-0-die-" + std::to_string(die),
               (begin + now + die * 300'000) % kCounterRange);
    }
    tree.add("intel-rapl:8", "package-1-die-0", 7'000'000 + now);  // of another package: its own
  };
  set(0);
  const auto host = tree.open();
  for (std::size_t i = 1; i <= 30; ++i) {
    set(i);
    CHECK(host->energy_joules() == Approx(double(i) * (100 + 100)).epsilon(1e-6));
  }
  CHECK_THAT(logged.take(), Contains("one energy counter, which counts once"));
}

TEST_CASE("host energy: dies far apart are not called one before they advanced", "[energy]") {
  LoggedText logged;
  const Tree tree;
  const auto set = [&](std::size_t i, std::size_t second) {
    tree.add("intel-rapl:0", "package-0-die-0", i * 150'000'000);
    tree.add("intel-rapl:1", "package-0-die-1", 9'000'000'000 + i * second);
  };
  set(0, 0);
  const auto host = tree.open();
  SECTION("of their own") {
    for (std::size_t i = 1; i <= 20; ++i) set(i, 149'000'000), host->energy_joules();
    CHECK(host->energy_joules() == Approx(20 * (150 + 149)).epsilon(1e-6));
    CHECK(logged.take().empty());
  }
  SECTION("one") {
    for (std::size_t i = 1; i <= 20; ++i) set(i, 150'000'000), host->energy_joules();
    CHECK(host->energy_joules() == Approx(20 * 150).epsilon(1e-6));
    CHECK_THAT(logged.take(), Contains("one energy counter"));
  }
}

TEST_CASE("host energy: nonsense makes it unknown for good, with one message", "[energy]") {
  const std::string file = GENERATE("energy_uj", "max_energy_range_uj");
  // Below, beyond the range or a range of 0, and a jump: back, and too far.
  const std::string text = GENERATE("", "much", "-5", "300000001e1", "12 13", "\x1b[31m1", "0x10",
                                    "0", "99999999999999999999999", "262143328851", "200000000000");
  CAPTURE(file, text);
  LoggedText logged;
  const Tree tree;
  tree.add("intel-rapl:0", "package-0", 300'000'000);
  const auto host = tree.open();
  CHECK(host->energy_joules() == 0);
  tree.write("intel-rapl:0/" + file, text);
  const bool holds = file != "energy_uj" && text.starts_with("2");  // another range
  CHECK(std::isnan(host->energy_joules()) != holds);
  tree.add("intel-rapl:0", "package-0", 300'000'000);
  CHECK(std::isnan(host->energy_joules()) != holds);
  const std::string said = logged.take();
  CHECK(std::ranges::count(said, '\n') == (holds ? 0 : 1));
  if (!holds) CHECK_THAT(said, Contains("warning: rank 0: ") && Contains("intel-rapl:0"));
  CHECK_THAT(said, !Contains("\x1b"));
}

TEST_CASE("host energy: what cannot be read is named, with the remedy", "[energy]") {
  const Tree tree;
  tree.add("intel-rapl:0", "package-0", 0);
  tree.add("intel-rapl:1", "package-1", 0);
  fs::remove(tree.path() / "intel-rapl:1/energy_uj");
  // Regular to look at, but none that is opened.
  fs::create_symlink("/proc/self/mem", tree.path() / "intel-rapl:1/energy_uj");
  LoggedText logged;
  const auto host = tree.open();
  CHECK(std::isnan(host->energy_joules()));  // not of a part
  CHECK_THAT(logged.take(), Contains("intel-rapl:1/energy_uj: it is no file on a disk") &&
                                Contains("sudo chmod a+r"));
}

}  // namespace
}  // namespace rueda
