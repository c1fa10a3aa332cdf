#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "cpu_backend.hpp"
#include "operations.hpp"
#include "parallel.hpp"
#include "rueda/backend/host_batch.hpp"
#include "rueda/kernels/batch_norm.hpp"
#include "rueda/kernels/element_hash.hpp"
#include "rueda/kernels/softmax_loss.hpp"

// Loops over the single-source arithmetic of include/rueda/kernels; this file is compiled without
// floating-point contraction, so that every processor rounds alike.

namespace rueda::cpu {
namespace {

/// The image lies plain, whatever the layout of the network behind it.
InputFormat input_format(const ActivationFormat& format) {
  return {.bf16 = format.precision == Precision::bf16, .channels_last = false};
}

/// Host memory is this device's memory: nothing is copied over a bus. Operations are bound to the
/// address of the network's input, so `deliver` still copies once.
class CpuStager final : public BatchStager {
 public:
  CpuStager(const InputFormat& format, int image_size, std::size_t batch)
      : format_(format),
        image_bytes_(format.image_bytes(image_size)),
        batch_(batch),
        slots_{Slot{HostMemory(batch * image_bytes_), std::vector<std::int32_t>(batch)},
               Slot{HostMemory(batch * image_bytes_), std::vector<std::int32_t>(batch)}} {}

  InputFormat format() const override { return format_; }
  std::byte* input(std::size_t slot) override { return slots_[slot].input.data(); }
  std::int32_t* labels(std::size_t slot) override { return slots_[slot].labels.data(); }
  bool copies() const override { return false; }
  void upload(std::size_t slot, std::size_t images) override { slots_[slot].images = images; }
  CopyCost wait(std::size_t) override { return {}; }
  void deliver(std::size_t slot, std::byte* input, std::int32_t* labels) override {
    Slot& from = slots_[slot];
    parallel_for(from.images, [&](std::size_t i) {
      const std::size_t offset = i * image_bytes_;
      std::memcpy(input + offset, from.input.data() + offset, image_bytes_);
    });
    std::copy_n(from.labels.begin(), from.images, labels);
  }
  std::size_t device_bytes() const override {
    return kSlots * batch_ * (image_bytes_ + sizeof(std::int32_t));
  }

 private:
  struct Slot {
    HostMemory input;
    std::vector<std::int32_t> labels;
    std::size_t images = 0;
  };

  InputFormat format_;
  std::size_t image_bytes_;
  std::size_t batch_;
  std::array<Slot, kSlots> slots_;
};

/// The images stay where they are: host memory is this device's memory.
struct HostImages final : DeviceImages {
  explicit HostImages(const ImageSet& set) : images(set) {}
  const ImageSet& images;
};

/// f(index in the activation, index in plain N, C, H, W order) for every element.
template <typename F>
void for_each_element(const BlockedView& view, std::size_t images, std::size_t channels, F f) {
  std::size_t plain = 0;
  for (std::size_t n = 0; n < images; ++n) {
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t p = 0; p < view.pixels; ++p) f(view.offset(n, c, p), plain++);
  }
}

}  // namespace

std::unique_ptr<DeviceImages> CpuBackend::hold(const ImageSet& images) {
  return std::make_unique<HostImages>(images);
}

void CpuBackend::make_batch(const BatchRequest& request, std::byte* input, std::int32_t* labels) {
  const ImageSet& images = static_cast<const HostImages&>(*request.images).images;
  const BatchChoice& choice = request.choice;
  const InputFormat format = input_format(context_.format);
  const std::size_t bytes = format.image_bytes(choice.transform.image_size);
  parallel_for(choice.indices.size(), [&](std::size_t i) {
    labels[i] = images.labels[choice.indices[i]];
    make_host_image(images, choice, i, format, input + i * bytes);
  });
}

std::unique_ptr<BatchStager> CpuBackend::make_stager(int image_size, std::size_t batch) {
  return std::make_unique<CpuStager>(input_format(context_.format), image_size, batch);
}

std::size_t CpuBackend::stager_bytes(int image_size, std::size_t batch) const {
  const std::size_t bytes = input_format(context_.format).image_bytes(image_size);
  return BatchStager::kSlots * batch * (bytes + sizeof(std::int32_t));
}

void CpuBackend::softmax_cross_entropy(const LossRequest& r) {
  const auto* from = reinterpret_cast<const float*>(r.logits);
  auto* to = reinterpret_cast<float*>(r.gradient);
  const float scale = to == nullptr ? 0.0F : *r.scale;
  double loss = 0;
  double correct = 0;
  for (int row = 0; row < r.rows; ++row) {
    const std::ptrdiff_t first = std::ptrdiff_t(row) * r.classes;
    const kernels::RowLoss of_row = kernels::softmax_cross_entropy_row(
        from + first, r.classes, r.labels[row], scale, to == nullptr ? nullptr : to + first);
    loss += double(of_row.loss);
    correct += of_row.correct ? 1.0 : 0.0;
  }
  *r.sums = {float(loss), float(correct)};
}

void CpuBackend::write_step_sums(StepSums* to, const LossSums* sums,
                                 std::span<const float> statistics, float samples,
                                 RankFlags* flags) {
  const auto finite = [](float v) { return std::isfinite(v); };
  const bool fine = finite(sums->loss) && std::all_of(statistics.begin(), statistics.end(), finite);
  if (!fine) flags->nonfinite = 1.0F;
  *to = {.loss = sums->loss,
         .correct = sums->correct,
         .samples = samples,
         .nonfinite = fine ? 0.0F : 1.0F,
         .stop = flags->stop};
}

void CpuBackend::sum_gradients(const Graph& graph, NodeId node, int batch, std::byte* to,
                               const std::byte* a, const std::byte* b) {
  with_type_of(graph.node(node), context_.format.precision, [&]<typename T>() {
    const T* x = elements<T>(a);
    const T* y = elements<T>(b);
    T* sum = elements<T>(to);
    parallel_elements(activation_bytes(graph, node, batch) / sizeof(T), [=](std::size_t i) {
      sum[i] = kernels::from_float<T>(kernels::to_float(x[i]) + kernels::to_float(y[i]));
    });
  });
}

void CpuBackend::sgd_update(std::span<float> values, std::span<float> velocities,
                            std::span<const float> gradients, const kernels::SgdStep& step) {
  float* w = values.data();
  float* v = velocities.data();
  const float* g = gradients.data();
  parallel_elements(values.size(),
                    [=](std::size_t i) { kernels::sgd_update(w[i], v[i], g[i], step); });
}

void CpuBackend::weigh_statistics(std::span<float> to, std::span<const float> from,
                                  std::span<const float> values_per_image, float samples) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = kernels::weighted_statistic(from[i], samples,
                                        kernels::bessel(samples * values_per_image[i]));
  }
}

void CpuBackend::update_running(std::span<float> running, std::span<const float> weighted_sums,
                                float samples, float momentum) {
  for (std::size_t i = 0; i < running.size(); ++i)
    running[i] = kernels::updated_running(running[i], weighted_sums[i], samples, momentum);
}

std::uint64_t CpuBackend::hash(std::span<const float> values) {
  std::uint64_t sum = 0;
  const float* v = values.data();
  const std::size_t count = values.size();
#pragma omp parallel for schedule(static) reduction(+ : sum) if (count > (1U << 14U))
  for (std::size_t i = 0; i < count; ++i) sum += kernels::element_hash(i, v[i]);
  return sum;
}

void CpuBackend::write_activation(const Graph& graph, NodeId node, int batch,
                                  std::span<const float> nchw, std::byte* activation) {
  const BlockedView view = blocked_view(graph, node, context_.format.layout);
  const auto images = std::size_t(batch);
  with_type_of(graph.node(node), context_.format.precision, [&]<typename T>() {
    T* to = elements<T>(activation);
    std::fill_n(to, images * view.image_elements(), T{});
    for_each_element(
        view, images, std::size_t(graph.shape(node).channels),
        [&](std::size_t at, std::size_t plain) { to[at] = kernels::from_float<T>(nchw[plain]); });
  });
}

void CpuBackend::read_activation(const Graph& graph, NodeId node, int batch,
                                 const std::byte* activation, std::span<float> nchw) {
  const BlockedView view = blocked_view(graph, node, context_.format.layout);
  with_type_of(graph.node(node), context_.format.precision, [&]<typename T>() {
    const T* from = elements<T>(activation);
    for_each_element(
        view, std::size_t(batch), std::size_t(graph.shape(node).channels),
        [&](std::size_t at, std::size_t plain) { nchw[plain] = kernels::to_float(from[at]); });
  });
}

}  // namespace rueda::cpu
