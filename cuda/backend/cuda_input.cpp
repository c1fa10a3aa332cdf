#include <cstring>

#include "backend/host_batch.hpp"
#include "cuda/backend/cuda_backend_class.hpp"
#include "cuda/backend/cuda_stager.hpp"
#include "cuda/kernels/kernels.hpp"

namespace rueda::cuda {

namespace {

struct GpuImages final : DeviceImages {
  DeviceMemory pixels;
  DeviceMemory labels;
};

DeviceMemory copy_of(std::span<const std::uint8_t> host, cudaStream_t stream) {
  DeviceMemory memory = make_device_memory(host.size());
  copy_now(memory.get(), host.data(), host.size(), cudaMemcpyHostToDevice, stream);
  return memory;
}

InputFormat input_format(Element element) {
  return {.bf16 = element == Element::bf16, .channels_last = true};
}

}  // namespace

std::size_t CudaBackend::image_bytes(std::size_t images) const {
  return images * (kImageBytes + sizeof(std::uint8_t));
}

std::unique_ptr<DeviceImages> CudaBackend::hold(const ImageSet& images) {
  auto held = std::make_unique<GpuImages>();
  held->pixels = copy_of(images.pixels, stream());
  held->labels = copy_of(images.labels, stream());
  return held;
}

void CudaBackend::make_batch(const BatchRequest& request, std::byte* input, std::int32_t* labels) {
  check(cudaEventSynchronize(indices_copied_.get()), "cudaEventSynchronize");
  const BatchChoice& choice = request.choice;
  const std::size_t bytes = choice.indices.size_bytes();
  std::memcpy(host_indices_.get(), choice.indices.data(), bytes);
  queue_copy(indices_.get(), host_indices_.get(), bytes, cudaMemcpyHostToDevice, stream());
  check(cudaEventRecord(indices_copied_.get(), stream()), "cudaEventRecord");
  const auto& images = static_cast<const GpuImages&>(*request.images);
  const BatchSource source{.pixels = static_cast<const std::uint8_t*>(images.pixels.get()),
                           .labels = static_cast<const std::uint8_t*>(images.labels.get()),
                           .indices = static_cast<const std::uint32_t*>(indices_.get()),
                           .count = choice.indices.size()};
  const Element element = context_.element();
  const BatchTarget target{.values = input, .element = element, .labels = labels};
  cuda::make_batch(source, choice.transform, choice.seed, choice.epoch, target, stream());
}

std::unique_ptr<BatchStager> CudaBackend::make_stager(int image_size, std::size_t batch) {
  return std::make_unique<CudaStager>(input_format(context_.element()), image_size, batch,
                                      stream());
}

std::size_t CudaBackend::stager_bytes(int image_size, std::size_t batch) const {
  const InputFormat format = input_format(context_.element());
  return BatchStager::kSlots * CudaStager::slot_bytes(format, image_size, batch);
}

void CudaBackend::allocate_indices(std::size_t batch) {
  indices_ = make_device_memory(batch * sizeof(std::uint32_t));
  host_indices_ = make_pinned_memory(batch * sizeof(std::uint32_t));
}

}  // namespace rueda::cuda
