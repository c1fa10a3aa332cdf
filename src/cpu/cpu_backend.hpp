#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cpu/context.hpp"
#include "rueda/backend/backend.hpp"

namespace rueda::cpu {

struct CpuOptions {
  int threads = 1;
  std::optional<ActivationLayout> layout = {};  ///< empty: what the processor prefers
  Precision precision = Precision::fp32;
};

/// The version of the oneDNN library in use.
std::string onednn_version();

/// A backend on oneDNN. All work is done when a call returns. Sets the number
/// of OpenMP threads of this process, which oneDNN uses too. Throws InputError
/// if the processor cannot compute in the precision.
std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options);

}  // namespace rueda::cpu
