#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rueda::standin {

/// What was copied from where to where. Written by the destructor to the folder that
/// RUEDA_DRIVER_COUNTERS names: a file for each process that copied, "NAME COUNT BYTES" in each
/// line.
class Counters {
 public:
  Counters() = default;
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  void count_copy(bool to_device, bool from_device, std::size_t bytes);
  void count_opened(std::size_t bytes) { opened_.add(bytes); }

 private:
  struct Tally {
    void add(std::size_t more) { ++count, bytes += more; }
    std::atomic<std::uint64_t> count = 0;
    std::atomic<std::uint64_t> bytes = 0;
  };

  Tally device_to_device_;
  Tally device_to_host_;
  Tally host_to_device_;
  Tally opened_;  // blocks of other processes
};

}  // namespace rueda::standin
