#include "cuda/backend/cuda_backend_class.hpp"
#include "cuda/device/device_query.hpp"

namespace rueda::cuda {

void copy_now(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
              cudaStream_t stream) {
  if (bytes == 0) return;
  queue_copy(to, from, bytes, kind, stream);
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

Memory CudaBackend::allocate(std::size_t bytes) {
  DeviceMemory memory = make_device_memory(bytes);
  if (memory) check(cudaMemsetAsync(memory.get(), 0, bytes, stream()), "cudaMemsetAsync");
  finish();
  return {memory.release(), bytes, cudaFree};
}

std::size_t CudaBackend::free_memory() const { return free_cuda_memory(); }

void CudaBackend::softmax_cross_entropy(const LossRequest& r) {
  auto* losses = static_cast<kernels::RowLoss*>(losses_.get());
  const auto rows = std::size_t(r.rows);
  cuda::softmax_cross_entropy(reinterpret_cast<const float*>(r.logits), r.labels, rows, r.classes,
                              r.smoothing, r.scale, reinterpret_cast<float*>(r.gradient), losses,
                              stream());
  sum_losses(losses, rows, &r.sums->loss, stream());
}

void CudaBackend::write_step_sums(StepSums* to, const LossSums* sums,
                                  std::span<const float> statistics, float samples,
                                  RankFlags* flags) {
  cuda::write_step_sums(&to->loss, &sums->loss, statistics.data(), statistics.size(), samples,
                        &flags->nonfinite, context_.sum_scratch(), stream());
}

void CudaBackend::sgd_update(std::span<float> values, std::span<float> velocities,
                             std::span<const float> gradients, const kernels::SgdStep& step) {
  const std::span<float> arena = context_.parameters.gradients;
  NarrowGradients narrow;
  if (lies_in(gradients, arena)) {
    const auto begin = std::size_t(gradients.data() - arena.data());
    narrow = context_.packed.left_gradients({begin, begin + gradients.size()});
  }
  cuda::sgd_update(values.data(), velocities.data(), gradients.data(), narrow,
                   context_.packed.copy_of(values.data()), values.size(), step, stream());
}

void CudaBackend::lars_update(const LarsSlice& slice, const kernels::LarsStep& step) {
  cuda::lars_update(slice, context_.packed.copy_of(slice.values.data()), step, stream());
}

void CudaBackend::weigh_statistics(std::span<float> to, std::span<const float> from,
                                   std::span<const float> values_per_image, float samples) {
  cuda::weigh_statistics(to.data(), from.data(), values_per_image.data(), to.size(), samples,
                         stream());
}

void CudaBackend::update_running(std::span<float> running, std::span<const float> weighted_sums,
                                 float samples, float momentum) {
  cuda::update_running(running.data(), weighted_sums.data(), running.size(), samples, momentum,
                       stream());
}

std::uint64_t CudaBackend::hash(std::span<const float> values) {
  return total_of(values, element_hash);
}

std::uint64_t CudaBackend::nonfinite(std::span<const float> values) {
  return total_of(values, cuda::nonfinite);
}

void CudaBackend::square_sums(std::span<const float> values, std::span<const std::size_t> ends,
                              std::span<double> to) {
  cuda::square_sums(values.data(), ends, to.data(), context_.sum_scratch(), stream());
}

void CudaBackend::write_part_squares(StepSums* to, std::span<const double> squares, float images,
                                     RankFlags* flags) {
  cuda::write_part_squares(&to->loss, squares, images, &flags->nonfinite, stream());
}

void CudaBackend::zero(std::span<float> values) {
  if (values.empty()) return;
  check(cudaMemsetAsync(values.data(), 0, values.size_bytes(), stream()), "cudaMemsetAsync");
}

void CudaBackend::upload(std::span<float> device, std::span<const float> host) {
  copy_now(device.data(), host.data(), host.size_bytes(), cudaMemcpyHostToDevice, stream());
}

void CudaBackend::download(std::span<float> host, std::span<const float> device) {
  copy_now(host.data(), device.data(), device.size_bytes(), cudaMemcpyDeviceToHost, stream());
}

Memory CudaBackend::allocate_host(std::size_t bytes) {
  return {make_pinned_memory(bytes).release(), bytes, cudaFreeHost};
}

bool CudaBackend::copy_later(std::span<float> to, std::span<const float> from) {
  queue_copy(to.data(), from.data(), from.size_bytes(), cudaMemcpyDefault, stream());
  return false;
}

void CudaBackend::allocate_losses(std::size_t rows) {
  losses_ = make_device_memory(rows * sizeof(kernels::RowLoss));
  total_ = make_device_memory(sizeof(std::uint64_t));
}

std::uint64_t CudaBackend::total_of(std::span<const float> values, decltype(element_hash) launch) {
  auto* sum = static_cast<std::uint64_t*>(total_.get());
  launch(values.data(), values.size(), sum, stream());
  std::uint64_t result = 0;
  copy_now(&result, sum, sizeof result, cudaMemcpyDeviceToHost, stream());
  return result;
}

}  // namespace rueda::cuda
