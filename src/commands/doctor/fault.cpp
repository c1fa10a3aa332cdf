#include "commands/doctor/fault.hpp"

#include <algorithm>
#include <csignal>
#include <string_view>
#include <vector>

#include <fmt/ranges.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace rueda::doctor {
namespace {

constexpr const char* kVariable = "RUEDA_DOCTOR_FAULT";

struct Kind {
  const char* name;
  int signal;  ///< that it raises; 0: it stalls, or sends something wrong
};

constexpr Kind kKinds[] = {
    {"crash-start", SIGSEGV},     // before MPI is initialised
    {"stall-start", 0},           // no end of the same step
    {"crash-transfer", SIGSEGV},  // an invalid address in the middle of the patterned transfer
    {"die-transfer", SIGKILL},    // a signal that no process can catch
    {"end-transfer", SIGTERM},    // the signal by which a launcher ends ranks
    {"stall-transfer", 0},        // a rank that never sends
    {kWrongTransfer, 0}};

}  // namespace

Fault asked_fault(const Environment& environment) {
  const std::string asked = variable_text(environment, kVariable);
  Fault fault;
  if (asked.empty()) return fault;
  std::vector<const char*> known;
  std::string_view rest = asked;
  for (const Kind& kind : kKinds) {
    known.push_back(kind.name);
    if (take(rest, kind.name)) fault.kind = kind.name;
  }
  const bool divided = !fault.kind.empty() && take(rest, ":");
  fault.rank = take_number<int>(rest).value_or(-1);
  require(divided && fault.rank >= 0 && rest.empty(),
          fmt::format("{}='{}' is not KIND:RANK with one of {}: unset it", kVariable,
                      printable(asked), fmt::join(known, ", ")));
  return fault;
}

void let_happen(const std::string& kind, const char* place) {
  if (!kind.ends_with(place)) return;
  const auto* known = std::ranges::find(kKinds, kind, &Kind::name);
  if (known->signal != 0) std::raise(known->signal);
  while (kind.starts_with("stall")) pause();
}

}  // namespace rueda::doctor
