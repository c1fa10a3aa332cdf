#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "rueda/backend/precision.hpp"
#include "rueda/model/work.hpp"

namespace rueda {

/// Rates of a GPU: FLOP/s of products by precision (fp32, tf32, bf16), bytes/s
/// of a copy. Those of an H100 were measured (docs/results/h100/gpu-check-B.json),
/// but for fp32. The others are 80 % and 90 % of what data sheets say of SXM
/// modules. Modules of like names have other rates: GH200, H100 PCIe.
struct GpuRates {
  std::string_view name;
  std::string_view device;  ///< what the driver calls it
  double flops[3];
  double bytes;
};
inline constexpr GpuRates kGpuRates[] = {
    {"H200", "NVIDIA H200", {54e12, 395e12, 790e12}, 4.3e12},
    {"H100", "NVIDIA H100 80GB HBM3", {54e12, 399e12, 803e12}, 3.02e12},
    {"A100", "NVIDIA A100-SXM4-80GB", {15.6e12, 125e12, 250e12}, 1.8e12}};

/// Of the GPU that is called so, here or by the driver; nothing if it is none of these.
inline std::optional<Roof> roof_of(std::string_view called, Precision precision) {
  for (const GpuRates& gpu : kGpuRates)
    if (called == gpu.name || called == gpu.device)
      return Roof{gpu.flops[std::size_t(precision)], gpu.bytes};
  return std::nullopt;
}

}  // namespace rueda
