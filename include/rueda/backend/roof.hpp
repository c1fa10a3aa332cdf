#pragma once

#include <optional>
#include <string_view>

#include "rueda/backend/precision.hpp"
#include "rueda/model/flops.hpp"

namespace rueda {

/// Rates of a GPU: FLOP/s of products by precision, bytes/s of a copy. The
/// H200's in bf16, and its copy, were measured; TF32 is half of bf16. The others are their data
/// sheets' (SXM modules) less what the H200 lacks of its own: 20 % and 10 %.
struct GpuRates {
  std::string_view name;  ///< part of what the driver calls it
  double bf16, tf32, fp32, bytes;
};

inline constexpr GpuRates kGpuRates[] = {{"H200", 790e12, 395e12, 54e12, 4.3e12},
                                         {"H100", 790e12, 395e12, 54e12, 3.0e12},
                                         {"A100", 250e12, 125e12, 15.6e12, 1.8e12}};

/// Of the GPU that `device` names, or nothing if it is none of these.
inline std::optional<Roof> roof_of(std::string_view device, Precision precision) {
  for (const GpuRates& gpu : kGpuRates) {
    if (device.find(gpu.name) == std::string_view::npos) continue;
    const double flops = precision == Precision::bf16   ? gpu.bf16
                         : precision == Precision::tf32 ? gpu.tf32
                                                        : gpu.fp32;
    return Roof{flops, gpu.bytes};
  }
  return std::nullopt;
}

}  // namespace rueda
