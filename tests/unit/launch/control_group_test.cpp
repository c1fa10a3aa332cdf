#include "launch/control_group.hpp"

#include <catch2/catch.hpp>
#include <unistd.h>

#include "../../support/common.hpp"
#include "base/core_time.hpp"
#include "display/text.hpp"

using namespace rueda;
using Catch::Contains;
using Catch::EndsWith;

namespace {

constexpr const char* kNoLimit = "9223372036854771712\n";  // of memory, as version 1 shows it

/// A made root with its own proc and sys.
struct Machine : test::ScratchDirectory {
  void in_groups(const std::string& lines) const { write("proc/self/cgroup", lines); }
  /// A file of a group.
  void set(const std::string& file, const std::string& text) const {
    write("sys/fs/cgroup/" + file, text);
  }
  /// Memory of a group of version 2: a limit, bytes in use, bytes of these that are cache.
  void memory(const std::string& group, const std::string& limit, const std::string& used,
              const std::string& cache = "0") const {
    set(group + "memory.max", limit + "\n");
    set(group + "memory.current", used + "\n");
    set(group + "memory.stat", "anon 1\ninactive_file " + cache + "\n");
  }
  /// The same of version 1.
  void memory_v1(const std::string& group, const std::string& limit, const std::string& used,
                 const std::string& cache = "0") const {
    set(group + "memory.limit_in_bytes", limit + "\n");
    set(group + "memory.usage_in_bytes", used + "\n");
    set(group + "memory.stat", "inactive_file 7\ntotal_inactive_file " + cache + "\n");
  }
  GroupLimits limits() const { return control_group_limits(path()); }
};

void check_none(const GroupLimits& limits) {
  CHECK(limits.memory_left == SIZE_MAX);
  CHECK(limits.process_left == SIZE_MAX);
  CHECK(limits.memory.source.empty());
  CHECK(limits.quota.value == 0);
  CHECK(limits.processors.value == 0);
  CHECK(limits_text(limits, 8).empty());
}

TEST_CASE("Without control groups, and in groups without limits, nothing is limited", "[cgroup]") {
  const Machine machine;
  check_none(machine.limits());
  machine.in_groups("4:memory:/a\n3:cpu,cpuacct:/a\n0::/a\n");
  machine.memory_v1("memory/a/", kNoLimit, "5");
  machine.set("cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
  machine.set("cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  machine.memory("unified/a/", "max", "5");
  machine.set("unified/a/cpu.max", "max 100000\n");
  check_none(machine.limits());
}

TEST_CASE("Version 2: a parent's limit holds, as Slurm sets it", "[cgroup]") {
  const Machine machine;
  machine.in_groups("0::/system/job_7/step_0/task_1\n");
  machine.memory("system/job_7/step_0/task_1/", "max", "100");
  machine.memory("system/job_7/step_0/", "max", "200");
  machine.memory("system/job_7/", "1000", "700", "300");
  machine.memory("system/", "5000", "900");
  machine.set("system/job_7/step_0/cpu.max", "max 100000\n");
  machine.set("system/job_7/cpu.max", "150000 100000\n");
  machine.set("system/cpu.max", "400000 100000\n");
  machine.set("system/job_7/step_0/cpuset.cpus.effective", "0-2,8\n");
  machine.set("system/cpuset.cpus.effective", "0-15\n");
  const GroupLimits limits = machine.limits();
  CHECK(limits.memory.value == 1000);
  CHECK(limits.memory_left == 600);
  CHECK_THAT(limits.memory.source, EndsWith("sys/fs/cgroup/system/job_7/memory.max"));
  CHECK(limits.quota.value == 1.5);
  CHECK_THAT(limits.quota.source, EndsWith("system/job_7/cpu.max"));
  CHECK(limits.processors.value == 4);
  CHECK_THAT(limits_text(limits, 16), Contains("1.00 kB of memory (") &&
                                          Contains("time of 1.5 cores (") &&
                                          Contains("4 of 16 processors ("));
  CHECK_THAT(limits_text(limits, 4), !Contains("processors"));
}

TEST_CASE("The group that leaves the least memory counts, not the lowest limit", "[cgroup]") {
  const Machine machine;
  machine.in_groups("0::/a/b\n");
  machine.memory("a/b/", "1000", "100");
  machine.memory("a/", "3000", "2800");
  CHECK(machine.limits().memory_left == 200);
  CHECK_THAT(machine.limits().memory.source, EndsWith("a/memory.max"));
  machine.memory("a/", "3000", "3100");  // as far as the kernel can be behind
  CHECK(machine.limits().memory_left == 0);
  machine.memory("a/", "3000", "0");
  machine.set("a/memory.high", "600\n");
  CHECK(machine.limits().memory_left == 600);  // beyond it the kernel holds programs up
}

TEST_CASE("Version 1, alone and beside version 2, where the mounts say", "[cgroup]") {
  const Machine machine;
  machine.in_groups(
      "9:name=systemd:/\n4:cpuset:/job\n3:cpuacct,cpu:/job\n2:memory:/job/step\n0::/x\n");
  const std::string mounted = GENERATE("", "far/");
  if (!mounted.empty()) {
    const std::string at = "/sys/fs/cgroup/far/";
    machine.write("proc/self/mountinfo",
                  "30 20 0:26 / / rw - ext4 /dev/sda rw\n"
                  "31 20 0:26 / " +
                      at +
                      "memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
                      "32 20 0:27 / " +
                      at +
                      "cpuacct,cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
                      "33 20 0:28 / " +
                      at +
                      "cpuset rw - cgroup cgroup rw,cpuset\n"
                      "34 20 0:29 / " +
                      at + "unified rw - cgroup2 cgroup rw\n");
  }
  machine.memory_v1(mounted + "memory/job/step/", kNoLimit, "10");
  machine.memory_v1(mounted + "memory/job/", "700", "500", "100");
  machine.memory_v1(mounted + "memory/", kNoLimit, "9000");
  machine.set(mounted + "cpuacct,cpu/job/cpu.cfs_quota_us", "50000\n");
  machine.set(mounted + "cpuacct,cpu/job/cpu.cfs_period_us", "100000\n");
  machine.set(mounted + "cpuset/job/cpuset.effective_cpus", "3\n");
  machine.set(mounted + "unified/x/cpu.max", "100000 100000\n");
  const GroupLimits limits = machine.limits();
  CHECK(limits.memory.value == 700);
  CHECK(limits.memory_left == 300);
  CHECK_THAT(limits.memory.source, EndsWith("memory/job/memory.limit_in_bytes"));
  CHECK(limits.quota.value == 0.5);
  CHECK_THAT(limits.quota.source, EndsWith("cpu/job/cpu.cfs_quota_us"));
  CHECK(limits.processors.value == 1);
}

TEST_CASE("A container sees its own group at the root of the mount", "[cgroup]") {
  const Machine machine;
  const std::string group = GENERATE("/docker/17/inner", "/docker/17", "/../elsewhere", "/");
  CAPTURE(group);
  machine.in_groups("4:memory:" + group + "\n0::/\n");
  machine.write("proc/self/mountinfo",
                "31 20 0:26 /docker/17 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  machine.memory_v1("memory/", "900", "100");
  machine.memory_v1("memory/inner/", "850", "10");
  CHECK(machine.limits().memory_left == 800);
  machine.memory_v1("memory/inner/", "500", "10");
  CHECK(machine.limits().memory_left == (group.ends_with("inner") ? 490 : 800));
}

TEST_CASE("A process's own limits of memory are limits", "[cgroup]") {
  const Machine machine;
  const auto limited = [&](const std::string& space, const std::string& data) {
    machine.write(
        "proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max data size             " +
            data +
            "            unlimited            bytes     \n"
            "Max stack size            8192                 unlimited            bytes     \n"
            "Max address space         " +
            space + "            unlimited            bytes     \n");
    return machine.limits();
  };
  const auto page = std::size_t(sysconf(_SC_PAGESIZE));
  machine.write("proc/self/statm", "50 20 10 5 0 30 0\n");
  check_none(limited("unlimited", "unlimited"));
  const auto bytes = [&](std::size_t pages) { return std::to_string(kThreadRoom + pages * page); };
  GroupLimits limits = limited(bytes(80), "unlimited");
  CHECK(limits.process_left == 30 * page);
  CHECK(limits.process.value == double(kThreadRoom + 80 * page));
  CHECK_THAT(limits_text(limits, 8), EndsWith(" of memory in a process (ulimit -v)"));
  limits = limited(bytes(80), bytes(31));
  CHECK(limits.process_left == page);
  CHECK(limits.process.source == "ulimit -d");
  CHECK(limited(bytes(40), "unlimited").process_left == 0);
  CHECK(limits.memory_left == SIZE_MAX);
}

TEST_CASE("Core time is the share of what threads wanted", "[cores]") {
  CHECK(is_disturbed(0.849));
  CHECK_FALSE(is_disturbed(0.85));
  CHECK_FALSE(is_disturbed(CoreTime().share()));  // unknown
  const CoreTime before{10, 30}, after{13, 34};
  CHECK((after - before).share() == 0.75);
  const CoreTime busy = busy_core_time(2, 0.05);
  CHECK(busy.got > 0);
  CHECK(busy.got <= busy.wanted * 1.01);  // clocks of different grain
  CHECK(busy.wanted >= 0.1);
}

}  // namespace
