#include <cstring>

#include "cuda/kernels/activation_kernels.hpp"
#include "cuda/kernels/kernels.hpp"
#include "cuda/operations/operations.hpp"
#include "cuda_backend.hpp"
#include "cuda_stager.hpp"

// What the backend does besides operations: memory, batches, loss, statistics, updates.

namespace rueda::cuda {
namespace {

class GpuMemory final : public Memory {
 public:
  GpuMemory(std::size_t bytes, cudaStream_t stream)
      : size_(bytes), memory_(make_device_memory(bytes)) {
    if (bytes == 0) return;
    check(cudaMemsetAsync(memory_.get(), 0, bytes, stream), "cudaMemsetAsync");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  std::byte* data() override { return static_cast<std::byte*>(memory_.get()); }
  std::size_t size() const override { return size_; }

 private:
  std::size_t size_;
  DeviceMemory memory_;
};

struct GpuImages final : DeviceImages {
  DeviceMemory pixels;
  DeviceMemory labels;
};

DeviceMemory copy_of(std::span<const std::uint8_t> host) {
  DeviceMemory memory = make_device_memory(host.size());
  if (!host.empty()) {
    check(cudaMemcpy(memory.get(), host.data(), host.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  return memory;
}

void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, from, bytes, kind, stream), "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

InputFormat input_format(Element element) {
  return {
      .bf16 = element == Element::bf16, .channels_last = true, .channels = image_channels(element)};
}

}  // namespace

std::unique_ptr<Memory> CudaBackend::allocate(std::size_t bytes) {
  return std::make_unique<GpuMemory>(bytes, stream());
}

std::size_t CudaBackend::free_memory() const {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return free;
}

std::size_t CudaBackend::image_bytes(std::size_t images) const {
  return images * (kImageBytes + sizeof(std::uint8_t));
}

std::unique_ptr<DeviceImages> CudaBackend::hold(const ImageSet& images) {
  auto held = std::make_unique<GpuImages>();
  held->pixels = copy_of(images.pixels);
  held->labels = copy_of(images.labels);
  return held;
}

/// The pinned indices may still be on their way to the device for the batch before.
void CudaBackend::make_batch(const BatchRequest& request, std::byte* input, std::int32_t* labels) {
  finish();
  const BatchChoice& choice = request.choice;
  const std::size_t bytes = choice.indices.size_bytes();
  std::memcpy(host_indices_.get(), choice.indices.data(), bytes);
  check(
      cudaMemcpyAsync(indices_.get(), host_indices_.get(), bytes, cudaMemcpyHostToDevice, stream()),
      "cudaMemcpyAsync");
  const auto& images = static_cast<const GpuImages&>(*request.images);
  const BatchSource source{.pixels = static_cast<const std::uint8_t*>(images.pixels.get()),
                           .labels = static_cast<const std::uint8_t*>(images.labels.get()),
                           .indices = static_cast<const std::uint32_t*>(indices_.get()),
                           .count = choice.indices.size()};
  const Element element = context_.element();
  const BatchTarget target{.values = input,
                           .element = element,
                           .labels = labels,
                           .layout = Layout::nhwc,
                           .channels = image_channels(element)};
  check(cuda::make_batch(source, choice.transform, choice.seed, choice.epoch, target, stream()),
        "make_batch");
}

std::unique_ptr<BatchStager> CudaBackend::make_stager(int image_size, std::size_t batch) {
  return std::make_unique<CudaStager>(input_format(context_.element()), image_size, batch,
                                      stream());
}

std::size_t CudaBackend::stager_bytes(int image_size, std::size_t batch) const {
  return BatchStager::kSlots *
         CudaStager::slot_bytes(input_format(context_.element()), image_size, batch);
}

void CudaBackend::softmax_cross_entropy(const LossRequest& r) {
  auto* losses = static_cast<kernels::RowLoss*>(losses_.get());
  const auto rows = static_cast<std::size_t>(r.rows);
  check(cuda::softmax_cross_entropy(reinterpret_cast<const float*>(r.logits), r.labels, rows,
                                    r.classes, r.scale, reinterpret_cast<float*>(r.gradient),
                                    losses, stream()),
        "softmax_cross_entropy");
  check(sum_losses(losses, rows, &r.sums->loss, stream()), "sum_losses");
}

void CudaBackend::write_step_sums(StepSums* to, const LossSums* sums,
                                  std::span<const float> statistics, float samples,
                                  RankFlags* flags) {
  check(cuda::write_step_sums(&to->loss, &sums->loss, statistics.data(), statistics.size(), samples,
                              &flags->nonfinite, stream()),
        "write_step_sums");
}

void CudaBackend::sum_gradients(const Graph& graph, NodeId node, int batch, std::byte* to,
                                const std::byte* a, const std::byte* b) {
  const Element element = element_of(graph.node(node), context_);
  const std::size_t count = activation_bytes(graph, node, batch) / bytes_of(element);
  check(add_activations(element, to, a, b, count, false, stream()), "add_activations");
}

void CudaBackend::sgd_update(std::span<float> values, std::span<float> velocities,
                             std::span<const float> gradients, const kernels::SgdStep& step) {
  check(cuda::sgd_update(values.data(), velocities.data(), gradients.data(), values.size(), step,
                         stream()),
        "sgd_update");
}

void CudaBackend::weigh_statistics(std::span<float> to, std::span<const float> from,
                                   std::span<const float> values_per_image, float samples) {
  check(cuda::weigh_statistics(to.data(), from.data(), values_per_image.data(), to.size(), samples,
                               stream()),
        "weigh_statistics");
}

void CudaBackend::update_running(std::span<float> running, std::span<const float> weighted_sums,
                                 float samples, float momentum) {
  check(cuda::update_running(running.data(), weighted_sums.data(), running.size(), samples,
                             momentum, stream()),
        "update_running");
}

std::uint64_t CudaBackend::hash(std::span<const float> values) {
  auto* sum = static_cast<std::uint64_t*>(hash_.get());
  check(element_hash(values.data(), values.size(), sum, stream()), "element_hash");
  std::uint64_t result = 0;
  copy(&result, sum, sizeof result, cudaMemcpyDeviceToHost, stream());
  return result;
}

void CudaBackend::write_activation(const Graph& graph, NodeId node, int batch,
                                   std::span<const float> nchw, std::byte* activation) {
  const DeviceMemory plain = make_device_memory(nchw.size_bytes());
  copy(plain.get(), nchw.data(), nchw.size_bytes(), cudaMemcpyHostToDevice, stream());
  const OperationRequest shape{context_, graph, node, batch, Mode::infer, false};
  check(from_plain(element_of(graph.node(node), context_), activation,
                   static_cast<const float*>(plain.get()), shape.shape_of(node),
                   stored_channels(graph, node, context_), stream()),
        "from_plain");
  finish();
}

void CudaBackend::read_activation(const Graph& graph, NodeId node, int batch,
                                  const std::byte* activation, std::span<float> nchw) {
  const DeviceMemory plain = make_device_memory(nchw.size_bytes());
  const OperationRequest shape{context_, graph, node, batch, Mode::infer, false};
  check(
      to_plain(element_of(graph.node(node), context_), static_cast<float*>(plain.get()), activation,
               shape.shape_of(node), stored_channels(graph, node, context_), stream()),
      "to_plain");
  copy(nchw.data(), plain.get(), nchw.size_bytes(), cudaMemcpyDeviceToHost, stream());
}

void CudaBackend::zero(std::span<float> values) {
  if (values.empty()) return;
  check(cudaMemsetAsync(values.data(), 0, values.size_bytes(), stream()), "cudaMemsetAsync");
}

void CudaBackend::upload(std::span<float> device, std::span<const float> host) {
  copy(device.data(), host.data(), host.size_bytes(), cudaMemcpyHostToDevice, stream());
}

void CudaBackend::download(std::span<float> host, std::span<const float> device) {
  copy(host.data(), device.data(), device.size_bytes(), cudaMemcpyDeviceToHost, stream());
}

void CudaBackend::finish() { check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize"); }

}  // namespace rueda::cuda
