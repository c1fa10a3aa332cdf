#include "counters.hpp"

#include <cstdlib>
#include <fstream>
#include <string>

#include <unistd.h>

namespace rueda::standin {

void Counters::count_copy(bool to_device, bool from_device, std::size_t bytes) {
  if (to_device && from_device) {
    device_to_device_.add(bytes);
  } else if (from_device) {
    device_to_host_.add(bytes);
  } else if (to_device) {
    host_to_device_.add(bytes);
  }
}

Counters::~Counters() {
  const char* folder = std::getenv("RUEDA_DRIVER_COUNTERS");
  if (folder == nullptr) return;
  std::ofstream file(std::string(folder) + "/" + std::to_string(getpid()));
  const auto write = [&](const char* name, const Tally& tally) {
    file << name << ' ' << tally.count << ' ' << tally.bytes << '\n';
  };
  write("device_to_device", device_to_device_);
  write("device_to_host", device_to_host_);
  write("host_to_device", host_to_device_);
  write("opened", opened_);
}

}  // namespace rueda::standin
