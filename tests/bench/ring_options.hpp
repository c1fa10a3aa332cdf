#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rueda/train/config.hpp"

namespace rueda::bench {

/// What ring_bandwidth was asked for.
struct RingOptions {
  BackendChoice backend = BackendChoice::cpu;
  TransportChoice transport = TransportChoice::automatic;
  bool allow_shared_gpu = false;
  std::size_t repetitions = 0;  ///< 0: by the size
  std::vector<std::size_t> bytes;
};

/// Options and sizes in any order; without sizes, those of docs/ring.md. Throws InputError.
RingOptions parse_ring_options(const std::vector<std::string>& words);

}  // namespace rueda::bench
