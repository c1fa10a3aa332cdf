#include "rueda/reduce/host_name.hpp"

#include <array>

#include <unistd.h>

namespace rueda {

std::string host_name() {
  std::array<char, 256> name{};  // POSIX allows 255; the last byte stays 0 when one is cut
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "unknown host";
  return name.data();
}

}  // namespace rueda
