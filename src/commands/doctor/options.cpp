#include <algorithm>
#include <charconv>
#include <iterator>

#include <spdlog/fmt/fmt.h>

#include "doctor.hpp"
#include "rueda/core/error.hpp"

namespace rueda {
namespace {

/// In the order of DoctorFault::Kind, without `none`.
constexpr const char* kFaults[] = {"crash-start",   "stall-start",  "crash-transfer",
                                   "die-transfer",  "end-transfer", "stall-transfer",
                                   "wrong-transfer"};

DoctorFault parse_fault(const std::string& text) {
  const auto colon = std::min(text.find(':'), text.size());
  const auto kind = std::ranges::find(kFaults, text.substr(0, colon));
  const char* end = text.data() + text.size();
  int rank = -1;
  const auto [rest, error] = std::from_chars(std::min(text.data() + colon + 1, end), end, rank);
  if (kind == std::end(kFaults) || error != std::errc() || rest != end || rank < 0) {
    throw InputError(fmt::format("--fault '{}' is not KIND:RANK with one of {}", text,
                                 fmt::join(kFaults, ", ")));
  }
  return {static_cast<DoctorFault::Kind>(kind - kFaults + 1), rank};
}

}  // namespace

void validate(DoctorOptions& options) {
  if (options.timeout < 1 || options.timeout > 86'400) {
    throw InputError("--timeout must be from 1 to 86400 seconds");
  }
  if (!options.fault.empty()) options.injected = parse_fault(options.fault);
}

}  // namespace rueda
