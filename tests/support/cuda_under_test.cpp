#include <cuda_runtime_api.h>

#include "backend_under_test.hpp"
#include "cuda/backend/cuda_backend.hpp"
#include "cuda/device/handles.hpp"

namespace rueda::test {
namespace {

constexpr int kDeterministic = 1;

/// A backend's stream does not wait for the default one, nor that one for it.
void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return;
  cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  cuda::check(cudaMemcpy(to, from, bytes, kind), "cudaMemcpy");
  cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

}  // namespace

const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = {{"suggested engines", 0}};
  return all;
}

const Variant& repeatable_variant() {
  static const Variant variant{"deterministic engines", kDeterministic};
  return variant;
}

std::unique_ptr<Backend> open_backend_under_test(const Variant& variant, Precision precision, int) {
  cuda::CudaOptions options;
  options.precision = precision;
  options.deterministic = variant.number == kDeterministic;
  return cuda::make_cuda_backend(options);
}

bool precision_available(Precision) { return true; }

/// cuDNN gives them in the precision of the activations.
Precision weight_gradients_in(Precision precision) { return precision; }

/// Where cuDNN has no engine that does all at once, the convolution's result is stored first.
double epilogue_rounding(Precision precision) { return precision == Precision::bf16 ? 0x1p-8 : 0; }

/// cuDNN promises engines for tensors whose channels fill 16 bytes, and the networks have no
/// others.
bool convolves_channels(int channels) { return channels % 8 == 0; }

int quick_image_size() { return 8; }

void write_bytes(std::byte* device, std::span<const std::byte> host) {
  copy(device, host.data(), host.size(), cudaMemcpyHostToDevice);
}

void read_bytes(std::span<std::byte> host, const std::byte* device) {
  copy(host.data(), device, host.size(), cudaMemcpyDeviceToHost);
}

}  // namespace rueda::test
