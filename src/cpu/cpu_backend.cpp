#include "cpu/cpu_backend.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <variant>
#include <vector>

#include <omp.h>
#include <pthread.h>
#include <spdlog/fmt/fmt.h>

#include "backend/host_backend.hpp"
#include "backend/host_batch.hpp"
#include "base/clock.hpp"
#include "base/element_hash.hpp"
#include "base/error.hpp"
#include "cpu/operations.hpp"
#include "cpu/parallel.hpp"
#include "cpu/square_sums.hpp"
#include "cpu/stager.hpp"
#include "kernels/batch_norm.hpp"
#include "kernels/lars.hpp"
#include "kernels/sgd.hpp"
#include "kernels/softmax_loss.hpp"
#include "kernels/square_sum.hpp"
#include "launch/thread_team.hpp"
#include "model/fusion.hpp"

// Operations apart these are loops over the single-source arithmetic of include/rueda/kernels.

namespace rueda::cpu {
namespace {

/// The images stay where they are: host memory is this device's memory.
struct HostImages final : DeviceImages {
  explicit HostImages(const ImageSet& set) : images(set) {}
  const ImageSet& images;
};

class CpuBackend final : public HostBackend {
 public:
  explicit CpuBackend(const CpuOptions& options) {
    require(options.precision != Precision::tf32,
            "--precision tf32: only GPUs have it; use --precision fp32 or bf16, or --backend cuda");
    require_team(options.threads);
    const ActivationLayout preferred = preferred_layout(context_.engine, options.precision);
    context_.format = {options.layout.value_or(preferred), options.precision};
  }

  std::string_view name() const override { return "cpu"; }
  bool offers(Precision precision) const override {
    if (precision != Precision::bf16) return precision == Precision::fp32;
    try {
      preferred_layout(context_.engine, precision);
      return true;
    } catch (const InputError&) {
      return false;
    }
  }
  std::string device() const override { return processor(); }
  /// A product of two matrices by oneDNN, and a copy that no cache holds, each
  /// the fastest of five.
  std::optional<Roof> roof() override {
    constexpr std::size_t kFloats = std::size_t{32} << 20U;
    const Memory from = host_memory(kFloats * sizeof(float));
    const Memory to = host_memory(kFloats * sizeof(float));
    const auto copy = [to = to.floats().data(), from = from.floats().data()](std::size_t i) {
      to[i] = from[i];
    };
    const double copying = least_seconds([&] { parallel_elements(kFloats, copy); });
    return Roof{product_flops(), 2.0 * kFloats * sizeof(float) / copying};
  }
  Peak peak() override {
    const int bits = vector_bits();
    const bool bf16 = is_bf16();
    if (bits == 0 || (bf16 && !multiplies_bf16()))
      return {product_flops(), "oneDNN's product of two 2048 x 2048 matrices"};
    const auto threads = std::size_t(omp_get_max_threads());
    const double seconds = least_seconds(
        [&] { parallel_for(threads, [=](std::size_t) { multiply_and_add(bits, bf16); }); }, 50);
    const double of_fp32 = double(threads) * kFmaFlopsPerBit * bits;
    if (bf16)
      return {of_fp32 * 2 / seconds, fmt::format("bf16 multiply-adds of {}-bit vectors", bits)};
    return {of_fp32 / seconds, fmt::format("fp32 multiply-adds of {}-bit vectors", bits)};
  }
  CoreTime core_time() override {
    if (clocks_.empty()) find_clocks();
    CoreTime time{0, steady_seconds() * double(clocks_.size())};
    for (const clockid_t clock : clocks_) {
      timespec used{};
      if (clock_gettime(clock, &used) != 0) return clocks_.clear(), CoreTime();  // the thread ended
      time.got += double(used.tv_sec) + 1e-9 * double(used.tv_nsec);
    }
    return time;
  }
  ReduceDevice& reduce_device() override { return reduce_device_; }
  Graph prepare(const Graph& graph) const override {
    return fuse_additions(graph, {.conv_adds = true});
  }
  Memory allocate(std::size_t bytes) override { return host_memory(bytes); }

  ActivationView view(const Graph& graph, NodeId node) const override {
    return context_.view(graph, node);
  }
  std::unique_ptr<Operation> make_operation(const NodeRequest& request) override {
    require_known_inputs(request);
    const OperationRequest here{request, context_};
    return std::visit([&](const auto& kind) { return make(here, kind); }, request.self().kind);
  }
  std::string slow_plans() const override { return references_text(context_.references); }
  std::size_t packed_bytes() const override { return context_.packed.bytes(); }
  std::size_t scratch_bytes() const override { return context_.scratch_bytes; }
  void forget_plans() override {
    context_.packed = {};
    context_.scratch = {};
    context_.scratch_bytes = 0;
    context_.references.clear();
  }
  void bind_parameters(const Graph& graph, const ParameterMemory& memory) override {
    context_.parameters = memory;
    context_.packed.allocate(graph, context_.engine, memory.values);
    context_.scratch = host_memory(context_.scratch_bytes);
  }
  void pack_parameters() override { context_.packed.pack_all(context_.stream); }

  std::unique_ptr<DeviceImages> hold(const ImageSet& images) override {
    return std::make_unique<HostImages>(images);
  }
  void make_batch(const BatchRequest& request, std::byte* input, std::int32_t* labels) override {
    const ImageSet& images = static_cast<const HostImages&>(*request.images).images;
    const BatchChoice& choice = request.choice;
    const std::size_t bytes = input_format().image_bytes(choice.transform.image_size);
    parallel_for(choice.indices.size(), [&](std::size_t i) {
      labels[i] = images.labels[choice.indices[i]];
      make_host_image(images, choice, i, input_format(), input + i * bytes);
    });
  }
  std::unique_ptr<BatchStager> make_stager(int image_size, std::size_t batch) override {
    return make_host_stager(input_format(), image_size, batch);
  }
  std::size_t stager_bytes(int image_size, std::size_t batch) const override {
    const std::size_t bytes = input_format().image_bytes(image_size) + sizeof(std::int32_t);
    return BatchStager::kSlots * batch * bytes;
  }
  void softmax_cross_entropy(const LossRequest& r) override {
    const auto* from = reinterpret_cast<const float*>(r.logits);
    auto* to = reinterpret_cast<float*>(r.gradient);
    float scale = 0.0F;
    if (to != nullptr) scale = *r.scale;
    double loss = 0;
    double correct = 0;
    for (int row = 0; row < r.rows; ++row) {
      const std::ptrdiff_t first = std::ptrdiff_t(row) * r.classes;
      const kernels::RowLoss of_row =
          kernels::softmax_cross_entropy_row(from + first, r.classes, r.labels[row], r.smoothing,
                                             scale, to == nullptr ? nullptr : to + first);
      loss += double(of_row.loss);
      correct += double(of_row.correct);
    }
    *r.sums = {float(loss), float(correct)};
  }
  void write_step_sums(StepSums* to, const LossSums* sums, std::span<const float> statistics,
                       float samples, RankFlags* flags) override {
    const auto finite = [](float v) { return std::isfinite(v); };
    const bool fine = finite(sums->loss) && std::ranges::all_of(statistics, finite);
    if (!fine) flags->nonfinite = 1.0F;
    *to = {.loss = sums->loss,
           .correct = sums->correct,
           .samples = samples,
           .nonfinite = float(!fine),
           .stop = flags->stop};
  }
  void sum_gradients(const Graph& graph, NodeId node, int batch, std::byte* to, const std::byte* a,
                     const std::byte* b) override {
    with_element_type(view(graph, node), [&]<typename T>() {
      const T* x = elements<T>(a);
      const T* y = elements<T>(b);
      T* sum = elements<T>(to);
      parallel_elements(activation_bytes(graph, node, batch) / sizeof(T), [=](std::size_t i) {
        sum[i] = kernels::from_float<T>(kernels::to_float(x[i]) + kernels::to_float(y[i]));
      });
    });
  }
  void sgd_update(std::span<float> values, std::span<float> velocities,
                  std::span<const float> gradients, const kernels::SgdStep& step) override {
    float* w = values.data();
    float* v = velocities.data();
    const float* g = gradients.data();
    parallel_elements(values.size(),
                      [=](std::size_t i) { kernels::sgd_update(w[i], v[i], g[i], step); });
  }
  void lars_update(const LarsSlice& s, const kernels::LarsStep& step) override {
    for (std::size_t k = 0; k < s.tensors.size(); ++k) {
      const auto [begin, count, adapted] = s.tensors[k];
      sgd_update(s.values.subspan(begin, count), s.velocities.subspan(begin, count),
                 s.gradients.subspan(begin, count),
                 kernels::lars_step(step, adapted, s.value_squares[k], s.gradient_squares[k]));
    }
  }
  void weigh_statistics(std::span<float> to, std::span<const float> from,
                        std::span<const float> values_per_image, float samples) override {
    for (std::size_t i = 0; i < to.size(); ++i) {
      const float correction = kernels::bessel(samples * values_per_image[i]);
      to[i] = kernels::weighted_statistic(from[i], samples, correction);
    }
  }
  void update_running(std::span<float> running, std::span<const float> weighted_sums, float samples,
                      float momentum) override {
    for (std::size_t i = 0; i < running.size(); ++i)
      running[i] = kernels::updated_running(running[i], weighted_sums[i], samples, momentum);
  }
  std::uint64_t hash(std::span<const float> values) override {
    return total_of<kernels::element_hash>(values);
  }
  std::uint64_t nonfinite(std::span<const float> values) override {
    return total_of<kernels::nonfinite>(values);
  }
  void square_sums(std::span<const float> values, std::span<const std::size_t> ends,
                   std::span<double> to) override {
    square_sums_(values, ends, to);
  }
  void write_part_squares(StepSums* to, std::span<const double> squares, float images,
                          RankFlags* flags) override {
    const auto square = [=](std::size_t i) { return squares[i]; };
    to->part_squares = kernels::part_squares(kernels::lane_sum(squares.size(), square), images);
    to->parts = 1.0F;
    if (!std::isfinite(to->part_squares)) to->nonfinite = flags->nonfinite = 1.0F;
  }

 private:
  /// Those of the team's threads, which stay the same as long as their number does.
  void find_clocks() {
#pragma omp parallel
    {
#pragma omp single
      clocks_.resize(std::size_t(omp_get_num_threads()));
      pthread_getcpuclockid(pthread_self(), &clocks_[std::size_t(omp_get_thread_num())]);
    }
  }
  /// The sum of share(i, values[i]) modulo 2^64.
  template <auto share>
  static std::uint64_t total_of(std::span<const float> values) {
    std::uint64_t sum = 0;
    const float* v = values.data();
    const std::size_t count = values.size();
#pragma omp parallel for schedule(static) reduction(+ : sum) if (count > kWorthThreads)
    for (std::size_t i = 0; i < count; ++i) sum += share(i, v[i]);
    return sum;
  }
  bool is_bf16() const { return context_.format.precision == Precision::bf16; }
  InputFormat input_format() const {
    return {.bf16 = is_bf16(),
            .channels_last = context_.format.layout == ActivationLayout::channels_last};
  }
  /// Of `work`, the fastest of some.
  double least_seconds(const auto& work, int tries = 5) {
    tick();
    for (int i = 0; i < tries; ++i) {
      work();
      tick();
    }
    return std::ranges::min(take_ticks());
  }
  /// FLOP/s of a product of two large matrices in the network's precision.
  double product_flops() {
    constexpr dnnl::memory::dim kSide = 2048;
    const Memory from = host_memory(kSide * kSide * sizeof(float));
    const Memory to = host_memory(kSide * kSide * sizeof(float));
    const dnnl::memory::desc square({kSide, kSide}, type_of(is_bf16()),
                                    dnnl::memory::format_tag::ab);
    const dnnl::memory a = context_.at(square, from.data()), b = context_.at(square, to.data());
    PrimitiveCall product{
        dnnl::matmul({context_.engine, square, square, square, dnnl::primitive_attr()}),
        {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, a}, {DNNL_ARG_DST, b}}};
    const double seconds = least_seconds([&] { product.run(context_.stream); });
    return 2.0 * kSide * kSide * kSide / seconds;
  }

  Context context_;
  std::vector<clockid_t> clocks_;  ///< of CPU time, by thread of the team
  HostAdder<TeamShare> reduce_device_;
  SquareSums square_sums_;
};

}  // namespace

std::string onednn_version() {
  const dnnl::version_t* v = dnnl::version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options) {
  return std::make_unique<CpuBackend>(options);
}

}  // namespace rueda::cpu
