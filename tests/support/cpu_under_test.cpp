#include <cstring>
#include <optional>

#include "backend_under_test.hpp"
#include "cpu/cpu_backend.hpp"
#include "has_avx512.hpp"

namespace rueda::test {
namespace {

constexpr int kPreferred = -1;  ///< the layout that this processor prefers

std::optional<cpu::ActivationLayout> layout_of(const Variant& variant) {
  if (variant.number == kPreferred) return std::nullopt;
  return cpu::ActivationLayout(variant.number);
}

}  // namespace

const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = {
      {"blocked8", 8}, {"blocked16", 16}, {"channels_last", 0}};
  return all;
}

const Variant& repeatable_variant() {
  static const Variant variant{"preferred layout", kPreferred};
  return variant;
}

std::unique_ptr<Backend> open_backend_under_test(const Variant& variant, Precision precision,
                                                 int threads) {
  return cpu::make_cpu_backend(
      {.threads = threads, .layout = layout_of(variant), .precision = precision});
}

bool precision_available(Precision precision) {
  return precision == Precision::fp32 || (precision == Precision::bf16 && has_avx512());
}

Precision weight_gradients_in(Precision) { return Precision::fp32; }

double epilogue_rounding(Precision) { return 0; }

/// Layouts pad what does not fit a block.
bool convolves_channels(int) { return true; }

/// Below, oneDNN lacks fast kernels in the last layers.
int quick_image_size() { return 16; }

void write_bytes(std::byte* device, std::span<const std::byte> host) {
  if (!host.empty()) std::memcpy(device, host.data(), host.size());
}

void read_bytes(std::span<std::byte> host, const std::byte* device) {
  if (!host.empty()) std::memcpy(host.data(), device, host.size());
}

}  // namespace rueda::test
