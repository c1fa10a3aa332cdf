#include "backend/timed/timed_backend.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include <fmt/format.h>
#include <sys/mman.h>

#include "backend/simple_operation.hpp"
#include "base/element_hash.hpp"
#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "model/flops.hpp"

namespace rueda::timed {
namespace {

constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();

/// Of share(i, values[i]), modulo 2^64.
template <auto share>
std::uint64_t total_of(std::span<const float> values) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += share(i, values[i]);
  return sum;
}

}  // namespace

double jitter_factor(const JitterSeed& seed, std::uint64_t number, double percent) {
  const double drawn = to_unit(random_bits(seed.seed, key_of("compute jitter"), seed.rank, number));
  return 1 + percent / 100 * (2 * drawn - 1);
}

std::unique_ptr<DeviceImages> TimedBackend::hold(const ImageSet&) {
  return std::make_unique<DeviceImages>();
}

std::unique_ptr<BatchStager> TimedBackend::make_stager(int, std::size_t) {
  throw InputError("--backend timed looks at no image: leave --input at resident");
}

Memory TimedBackend::allocate(std::size_t bytes) {
  const std::size_t mapped = std::max<std::size_t>(bytes, 1);
  void* place = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) {
    throw OutOfMemory("out of memory: " + std::to_string(bytes) +
                      " bytes in one piece were not to be had; start fewer ranks on a machine");
  }
  return {place, bytes, [mapped](std::byte* memory) { munmap(memory, mapped); }};
}

void TimedBackend::softmax_cross_entropy(const LossRequest& r) { *r.sums = {kNothing, kNothing}; }

void TimedBackend::write_step_sums(StepSums* to, const LossSums*, std::span<const float>,
                                   float samples, RankFlags* flags) {
  *to = {.loss = kNothing, .correct = kNothing, .samples = samples, .stop = flags->stop};
}

std::uint64_t TimedBackend::hash(std::span<const float> values) {
  return total_of<kernels::element_hash>(values);
}

std::uint64_t TimedBackend::nonfinite(std::span<const float> values) {
  return total_of<kernels::nonfinite>(values);
}

std::string TimedBackend::device() const {
  std::string text = fmt::format("none: waits {:.4g} ms for {}", compute_.seconds * 1e3,
                                 counted(compute_.images, "image"));
  if (compute_.jitter_percent > 0) text += fmt::format(" +- {:g} %", compute_.jitter_percent);
  return text;
}

void TimedBackend::mark(Mark mark) {
  const SteadyTime moment = marks_[std::size_t(mark)] = now();
  if (mark != Mark::forward) return;
  due_ = moment;
  factor_ = jitter_factor(jitter_, ++micro_batches_, compute_.jitter_percent);
  if (!compute_.factors.empty()) factor_ *= compute_.factors[std::size_t(jitter_.rank)];
}

std::unique_ptr<Operation> TimedBackend::make_operation(const NodeRequest& r) {
  if (r.node == r.graph.input()) return nullptr;
  const auto own = double(forward_flops(r.graph, r.node));
  const double share = own / double(forward_flops(r.graph));
  const int batch = r.batch;
  // The time that was given is of the whole micro-batch, so recomputing takes none.
  return std::make_unique<SimpleOperation>(
      OperationNeeds{}, [=, this](const OperationMemory&) { work(share * kForwardShare, batch); },
      [=, this](const OperationMemory&) { work(share * kBackwardShare, batch); },
      [](const OperationMemory&) {});
}

void TimedBackend::work(double share, int images) {
  const double seconds = share * factor_ * compute_.seconds * images / double(compute_.images);
  due_ += std::chrono::duration_cast<SteadyTime::duration>(std::chrono::duration<double>(seconds));
  wait_until(due_);
}

}  // namespace rueda::timed
