#include "rueda/core/host_memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace rueda {
namespace {

std::size_t available_on_machine() {
  std::ifstream info("/proc/meminfo");
  std::string name, unit;
  for (std::size_t kib = 0; info >> name >> kib && std::getline(info, unit);) {
    if (name == "MemAvailable:") return kib * 1024;
  }
  return 0;
}

/// Files that were read count as used, though their pages are given up for whoever needs memory.
std::size_t file_pages_of_control_group() {
  std::ifstream file("/sys/fs/cgroup/memory.stat");
  std::string name;
  for (std::size_t bytes = 0; file >> name >> bytes;) {
    if (name == "inactive_file") return bytes;
  }
  return 0;
}

/// A limit is a number or the word "max", which reads as no number.
std::size_t left_by_control_group() {
  std::ifstream limit_file("/sys/fs/cgroup/memory.max");
  std::ifstream used_file("/sys/fs/cgroup/memory.current");
  std::size_t limit = 0;
  std::size_t used = 0;
  if (!(limit_file >> limit) || !(used_file >> used))
    return std::numeric_limits<std::size_t>::max();
  used -= std::min(used, file_pages_of_control_group());
  return limit > used ? limit - used : 0;
}

}  // namespace

std::size_t available_host_memory() {
  return std::min(available_on_machine(), left_by_control_group());
}

}  // namespace rueda
