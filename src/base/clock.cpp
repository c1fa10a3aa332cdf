#include "base/clock.hpp"

#include <ctime>

#include <fmt/chrono.h>

namespace rueda {

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace rueda
