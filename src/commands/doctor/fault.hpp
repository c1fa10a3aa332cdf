#pragma once

#include <string>

#include "launch/launcher.hpp"

namespace rueda::doctor {

/// A fault that tests put into the doctor's own run.
struct Fault {
  std::string kind;  ///< empty: none
  int rank = 0;      ///< the rank that has it, as the launcher counts
};

/// Reads RUEDA_DOCTOR_FAULT=KIND:RANK. Throws InputError naming the variable.
Fault asked_fault(const Environment& environment);

/// Lets `kind` happen if it belongs to this place, "-start" or "-transfer".
void let_happen(const std::string& kind, const char* place);

/// A fault of the transfer that leaves the process alive: an element comes otherwise than it was
/// sent.
inline constexpr const char* kWrongTransfer = "wrong-transfer";

}  // namespace rueda::doctor
