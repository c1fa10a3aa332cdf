#include <array>
#include <charconv>

#include "doctor.hpp"
#include "rueda/core/error.hpp"

namespace rueda {
namespace {

using Kind = DoctorFault::Kind;

struct Word {
  const char* word;
  Kind kind;
};
constexpr std::array kFaults = {
    Word{"crash-start", Kind::crash_start},       Word{"stall-start", Kind::stall_start},
    Word{"crash-transfer", Kind::crash_transfer}, Word{"die-transfer", Kind::die_transfer},
    Word{"end-transfer", Kind::end_transfer},     Word{"stall-transfer", Kind::stall_transfer},
    Word{"wrong-transfer", Kind::wrong_transfer},
};

DoctorFault parse_fault(const std::string& text) {
  const auto colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const std::string rank = colon == std::string::npos ? "" : text.substr(colon + 1);
  DoctorFault fault;
  const auto [end, error] = std::from_chars(rank.data(), rank.data() + rank.size(), fault.rank);
  std::string known;
  for (const Word& word : kFaults) {
    if (kind == word.word) fault.kind = word.kind;
    known += (known.empty() ? "" : ", ") + std::string(word.word);
  }
  const bool whole = error == std::errc() && end == rank.data() + rank.size() && fault.rank >= 0;
  if (fault.kind == Kind::none || !whole) {
    throw InputError("--fault '" + text + "' is not KIND:RANK with one of " + known);
  }
  return fault;
}

}  // namespace

void validate(DoctorOptions& options) {
  if (options.timeout < 1 || options.timeout > 86'400) {
    throw InputError("--timeout must be from 1 to 86400 seconds");
  }
  if (!options.fault.empty()) options.injected = parse_fault(options.fault);
}

}  // namespace rueda
