#include "timed_backend.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <utility>

#include <spdlog/fmt/fmt.h>
#include <sys/mman.h>

#include "rueda/core/error.hpp"
#include "rueda/core/random.hpp"
#include "rueda/kernels/element_hash.hpp"
#include "rueda/model/flops.hpp"

namespace rueda::timed {

namespace {

constexpr double kForwardShare = 1.0 / 3;
constexpr double kBackwardShare = 2.0 / 3;
constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();

}  // namespace

double jitter_factor(const JitterSeed& seed, std::uint64_t number, double percent) {
  const double drawn = to_unit(random_bits(seed.seed, key_of("compute jitter"), seed.rank, number));
  return 1 + percent / 100 * (2 * drawn - 1);
}

void Schedule::work(double share, int images) {
  const double seconds = share * factor_ * compute_.seconds * images / double(compute_.images);
  due_ += std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(seconds));
  timepiece_.wait_until(due_);
}

void Schedule::mark(Mark mark) {
  const Time now = timepiece_.now();
  marks_.set(mark, now);
  if (mark != Mark::forward) return;
  due_ = now;
  factor_ = jitter_factor(jitter_, ++micro_batches_, compute_.jitter_percent);
}

TimedBackend::TimedBackend(const TimedCompute& compute, const JitterSeed& jitter,
                           std::unique_ptr<Timepiece> timepiece)
    : compute_(compute),
      timepiece_(std::move(timepiece)),
      schedule_(*timepiece_, compute_, jitter) {}

std::string TimedBackend::device() const {
  std::string text =
      fmt::format("none: waits {:.4g} ms for {} images", compute_.seconds * 1e3, compute_.images);
  if (compute_.jitter_percent > 0) text += fmt::format(" +- {:g} %", compute_.jitter_percent);
  return text;
}

/// Of this memory only what is written takes room in the machine.
Memory TimedBackend::allocate(std::size_t bytes) {
  const std::size_t mapped = std::max<std::size_t>(bytes, 1);
  void* place = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) {
    throw OutOfMemory("out of memory: " + std::to_string(bytes) +
                      " bytes in one piece were not to be had; start fewer ranks on a machine");
  }
  return {place, bytes, [mapped](std::byte* memory) { munmap(memory, mapped); }};
}

std::unique_ptr<Operation> TimedBackend::make_operation(const Graph& graph, NodeId node, int batch,
                                                        Mode) {
  if (node == graph.input()) return nullptr;
  const auto own = double(forward_flops(graph, node));
  const double share = own / double(forward_flops(graph));
  // The time that was given is of the whole micro-batch, so recomputing takes none.
  return std::make_unique<SimpleOperation>(
      OperationNeeds{},
      [=, this](const OperationMemory&) { schedule_.work(share * kForwardShare, batch); },
      [=, this](const OperationMemory&) { schedule_.work(share * kBackwardShare, batch); },
      [](const OperationMemory&) {});
}

std::unique_ptr<BatchStager> TimedBackend::make_stager(int, std::size_t) {
  throw InputError("--backend timed looks at no image: leave --input at resident");
}

void TimedBackend::softmax_cross_entropy(const LossRequest& r) { *r.sums = {kNothing, kNothing}; }

void TimedBackend::write_step_sums(StepSums* to, const LossSums*, std::span<const float>,
                                   float samples, RankFlags* flags) {
  *to = {.loss = kNothing, .correct = kNothing, .samples = samples, .stop = flags->stop};
}

std::uint64_t TimedBackend::hash(std::span<const float> values) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += kernels::element_hash(i, values[i]);
  return sum;
}

}  // namespace rueda::timed
