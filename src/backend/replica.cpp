#include "backend/replica.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>

#include "backend/named_range.hpp"
#include "base/clock.hpp"
#include "base/computing.hpp"
#include "base/error.hpp"

namespace rueda {

Replica::Replica(const Graph& graph, Backend& backend, std::unique_ptr<ReplicaPlan> plan,
                 std::span<float> gradients)
    : graph_(graph),
      backend_(backend),
      layout_(plan->layout()),
      plan_(std::move(plan)),
      gradient_memory_(gradients) {
  const Stopwatch watch;
  allocate();
  allocation_seconds_ = watch.seconds();
}

void Replica::allocate() {
  values_ = backend_.allocate(layout_.parameter_memory() * sizeof(float));
  allocate_gradients();
  batch_statistics_ = backend_.allocate(layout_.statistics * sizeof(float));
  running_ = backend_.allocate(layout_.statistics * sizeof(float));
  values_per_image_ = backend_.allocate(layout_.statistics * sizeof(float));
  scalars_ = backend_.allocate(sizeof(Scalars));
  const std::size_t slots = layout_.slots * kSlotFloats * sizeof(float);
  result_ = backend_.allocate_host(sizeof(StepResult) + slots);
  slots_written_ = backend_.allocate_host(slots);
  for (const Parameter& p : graph_.parameters()) tensor_ends_.push_back(p.offset + p.count);
  squares_ = backend_.allocate(tensor_ends_.size() * sizeof(double));
  squares_read_ = backend_.allocate_host(tensor_ends_.size() * sizeof(double));
  bind_plan();
  // How many values per image and channel enter a variance that is to be
  // unbiased; 0 for all other statistics, which need no correction.
  const auto values = [](const BatchNormNode& bn, const Shape& output) {
    if (bn.running_variance == RunningVariance::biased) return 0.0F;
    return float(output.height * output.width);
  };
  backend_.upload(values_per_image_.floats(), for_variances(values));
}

void Replica::bind_plan() {
  pool_ = backend_.allocate(plan_->pool_bytes());
  backend_.bind_parameters(
      graph_, {parameters(), gradients(), batch_statistics_.floats(), running_.floats()});
  plan_->bind(pool_.data());
  announce_buckets(announced_);
}

void Replica::forget_plan() {
  backend_.finish();
  current_ = nullptr;
  plan_.reset();
  pool_ = {};
  backend_.forget_plans();
}

void Replica::take_plan(std::unique_ptr<ReplicaPlan> plan) {
  const Stopwatch watch;
  plan_ = std::move(plan);
  bind_plan();
  parameters_changed();
  allocation_seconds_ += watch.seconds();
}

void Replica::allocate_gradients() {
  if (gradient_memory_.empty()) {
    own_gradients_ = backend_.allocate(layout_.memory() * sizeof(float));
    gradient_memory_ = own_gradients_.floats();
  } else if (gradient_memory_.size() < layout_.memory()) {
    throw RunError("memory for " + std::to_string(gradient_memory_.size()) +
                   " floats of gradients, of which there are " + std::to_string(layout_.memory()));
  }
}

/// What `value` says of each batch norm and its output, for the variances among
/// the statistics; 0 for the means.
std::vector<float> Replica::for_variances(float (*value)(const BatchNormNode&,
                                                         const Shape&)) const {
  std::vector<float> values(layout_.statistics, 0.0F);
  for (const Node& node : graph_.nodes()) {
    const auto* bn = std::get_if<BatchNormNode>(&node.kind);
    if (bn == nullptr) continue;
    const auto channels = std::size_t(node.output.channels);
    std::fill_n(values.data() + bn->statistics_offset + channels, channels,
                value(*bn, node.output));
  }
  return values;
}

void Replica::load(const BatchRequest& request) {
  if (!choose_program(request.choice.indices.size())) return;
  backend_.mark(Mark::load);
  const NamedRange range(backend_, "load");
  backend_.make_batch(request, current_->input(), current_->labels());
}

void Replica::load(BatchStager& stager, std::size_t slot, std::size_t images) {
  if (!choose_program(images)) return;
  backend_.mark(Mark::load);
  const NamedRange range(backend_, "load");
  stager.deliver(slot, current_->input(), current_->labels());
}

void Replica::loss(float scale) {
  if (current_ != nullptr) {
    set_scale(scale);
    return compute_loss();
  }
  backend_.zero(computed());
  if (!asks_to_stop_) return;  // an empty micro-batch has nothing to tell but this
  const std::size_t stop = offsetof(StepSums, stop) / sizeof(float);
  backend_.upload(gradients().subspan(layout_.sums_offset() + stop, 1), std::array{1.0F});
}

void Replica::set_scale(float scale) {
  if (scale == scale_) return;
  backend_.upload({&scalars().scale, 1}, std::array{scale});
  scale_ = scale;
}

void Replica::compute_loss() {
  backend_.softmax_cross_entropy({.logits = current_->logits(),
                                  .labels = current_->labels(),
                                  .rows = current_->batch(),
                                  .classes = graph_.classes(),
                                  .smoothing = smoothing_,
                                  .sums = &scalars().sums,
                                  .scale = &scalars().scale,
                                  .gradient = current_->logits_gradient()});
  write_tail(float(current_->batch()));
}

void Replica::backward() {
  if (current_ == nullptr) return;
  current_->backward([this](std::size_t bucket) { complete_bucket(bucket); });
  if (!announced_.empty()) return;
  backend_.complete_gradients();
  sum_squares({0, layout_.parameters});
  write_part();
}

/// The tail is in the last one.
void Replica::complete_bucket(std::size_t bucket) {
  backend_.complete_gradients();
  sum_squares({bucket == 0 ? 0 : announced_[bucket - 1], announced_[bucket]});
  if (bucket + 1 == announced_.size()) write_part();
  backend_.announce(bucket);
}

void Replica::sum_squares(Range floats) {
  if (!measures_) return;
  const auto first = std::ranges::upper_bound(tensor_ends_, floats.begin);
  const auto last = std::ranges::upper_bound(tensor_ends_, floats.end);
  if (first == last) return;
  const std::size_t before = first == tensor_ends_.begin() ? 0 : *std::prev(first);
  std::vector<std::size_t> ends(first, last);
  for (std::size_t& end : ends) end -= before;
  backend_.square_sums(
      cut(gradients(), {before, *std::prev(last)}), ends,
      squares(squares_).subspan(std::size_t(first - tensor_ends_.begin()), ends.size()));
}

void Replica::write_part() {
  if (!measures_) return;
  backend_.write_part_squares(own_sums(), squares(squares_), float(current_->batch()),
                              &scalars().flags);
}

double Replica::gradient_norm2() const {
  const std::span<const double> of_tensors = squares(squares_read_);
  return std::accumulate(of_tensors.begin(), of_tensors.end(), 0.0);
}

void Replica::announce_buckets(const std::vector<std::size_t>& ends) {
  if (ends.size() > kMostBuckets) {
    throw RunError("gradients in " + std::to_string(ends.size()) + " buckets: at most " +
                   std::to_string(kMostBuckets) + " can be announced; use larger ones");
  }
  announced_ = ends;
  for (const auto& [batch, program] : plan_->train()) program->announce_buckets(announced_);
}

ComputeSeconds Replica::compute(float scale, bool profile) {
  const Computing computing("a forward and backward pass");
  const bool leaves =
      leaves_ && current_ != nullptr && announced_.empty() && !measures_ && !disturb_;
  backend_.leave_gradients(leaves);
  if (current_ == nullptr) {
    loss(scale);
    for (std::size_t bucket = 0; bucket < announced_.size(); ++bucket) backend_.announce(bucket);
    backend_.finish();
    return {};
  }
  set_scale(scale);
  // Profilers show the host's time for a part: when it is queued, or recorded.
  const auto part = [this](Mark mark, const char* name, auto work) {
    backend_.mark(mark);
    const NamedRange range(backend_, name);
    (this->*work)();
    if (disturb_) disturb_(mark);
  };
  const auto work = [&] {
    part(Mark::forward, "forward", &Replica::forward);
    part(Mark::loss, "loss", &Replica::compute_loss);
    part(Mark::backward, "backward", &Replica::backward);
    backend_.mark(Mark::end);
  };
  {
    const NamedRange range(backend_, "forward and backward");
    if (profile && current_ == plan_->train().rbegin()->second.get())
      current_->profile([&] { backend_.replay(std::nullopt, work); });
    else if (disturb_)
      backend_.replay(std::nullopt, work);
    else  // announcements, norms and conversions are part of the work
      backend_.replay((std::uint64_t(current_->batch()) << 32U) |
                          (std::uint64_t(measures_) << 31U) | (std::uint64_t(leaves) << 30U) |
                          announced_.size(),
                      work);
  }
  return backend_.compute_seconds();
}

/// The loss alone would not do for the flag: a ReLU may swallow a NaN, but the
/// statistics of the batch norm before it keep it.
void Replica::write_tail(float samples) {
  const std::span<const float> statistics = batch_statistics_.floats();
  backend_.weigh_statistics(gradients().subspan(layout_.statistics_offset(), layout_.statistics),
                            statistics, values_per_image_.floats(), samples);
  backend_.write_step_sums(own_sums(), &scalars().sums, statistics, samples, &scalars().flags);
}

void Replica::ask_to_stop() {
  asks_to_stop_ = true;
  backend_.upload({&scalars().flags.stop, 1}, std::array{1.0F});
}

LossSums Replica::infer(const BatchRequest& request, std::span<float> logits) {
  const std::size_t images = request.choice.indices.size();
  if (images == 0) return {};
  const Computing computing("a forward pass");
  Program& program = *plan_->infer().at(images);
  backend_.make_batch(request, program.input(), program.labels());
  program.forward();
  backend_.softmax_cross_entropy({.logits = program.logits(),
                                  .labels = program.labels(),
                                  .rows = program.batch(),
                                  .classes = graph_.classes(),
                                  .sums = &scalars().sums});
  LossSums sums;
  backend_.download({&sums.loss, 2}, {&scalars().sums.loss, 2});
  if (!logits.empty())
    backend_.download(logits, {reinterpret_cast<float*>(program.logits()), logits.size()});
  return sums;
}

bool Replica::read_step_sums() {
  constexpr std::size_t kFlags = sizeof(RankFlags) / sizeof(float);
  backend_.copy_later(result_.floats().subspan(kFlags), gradients().subspan(layout_.sums_offset()));
  if (measures_) backend_.copy_later(squares_read_.floats(), squares_.floats());
  return backend_.copy_later({&result().flags.nonfinite, kFlags},
                             {&scalars().flags.nonfinite, kFlags});
}

/// The copy of the step before is over: its `compute` has returned since.
void Replica::write_slot(std::optional<std::size_t> slot,
                         std::span<const float, kSlotFloats> values) {
  const std::span<float> all = slots_written_.floats();
  std::ranges::fill(all, 0.0F);
  if (slot.value_or(layout_.slots) < layout_.slots)
    std::ranges::copy(values, all.subspan(*slot * kSlotFloats).begin());
  backend_.copy_later(gradients().subspan(layout_.slots_offset()), all);
}

void Replica::update_running_statistics(float samples) {
  const auto sums = gradients().subspan(layout_.statistics_offset(), layout_.statistics);
  backend_.update_running(running_statistics(), sums, samples, graph_.running_momentum());
}

}  // namespace rueda
