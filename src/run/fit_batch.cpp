#include "run/fit_batch.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include <fmt/format.h>

#include "base/log.hpp"
#include "display/model_summary.hpp"
#include "launch/control_group.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "run/wiring/engines.hpp"
#include "run/wiring/plans.hpp"

namespace rueda {
namespace {

constexpr std::size_t kUnit = 8;

/// The part of the free memory that `--batch-per-rank max` fills; the device's
/// libraries may take the rest later.
constexpr double kFilledPart = 0.97;

/// The memory that this rank may take, as it is before anything big is allocated.
struct Room {
  std::size_t bytes = 0;
  std::size_t sharers = 1;
  std::string limit = {};  ///< of the process, where that leaves the least
};

/// Collective. Ranks ask for the free memory at different times, so the least answer counts.
Room measure_room(const FitRequest& request) {
  Communicator& group = request.job.world();
  const std::string& uuid = request.job.uuid();
  const std::string place = group.host() + " " + uuid;
  const auto places = all_gather_text(group, place);
  std::size_t free = 0;
  together(group, [&] { free = request.backend.free_memory(); });
  const auto answers = all_gather(group, free);
  Room room{SIZE_MAX, 0};
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    if (places[rank] != place) continue;
    room.bytes = std::min(room.bytes, answers[rank]);
    ++room.sharers;
  }
  // Where the system does not say how much is free, the allocation itself shows it.
  if (room.bytes == 0) room.bytes = SIZE_MAX;
  if (room.bytes != SIZE_MAX) room.bytes /= room.sharers;
  if (!uuid.empty()) return room;
  const GroupLimits limits = control_group_limits();
  if (limits.process_left < room.bytes) return {limits.process_left, 1, limits.process.source};
  return room;
}

/// A resumed run is not offered what it must not change, nor a machine what it cannot do.
std::vector<std::string> remedies_of(const TrainConfig& config, const Backend& backend,
                                     bool resumed) {
  std::vector<std::string> remedies;
  if (!resumed && config.batch.on_oom == OnOom::fail) remedies.emplace_back("--on-oom halve");
  if (config.device.recompute == Recompute::none) remedies.emplace_back("--recompute bn");
  if (config.device.recompute != Recompute::block) remedies.emplace_back("--recompute block");
  if (!resumed && config.device.precision != Precision::bf16 && backend.offers(Precision::bf16))
    remedies.emplace_back("--precision bf16");
  return remedies;
}

/// Fits a batch by planning one after the other, on a backend that nothing else uses.
class Fitter {
 public:
  Fitter(const FitRequest& request, const std::vector<std::size_t>& shares)
      : request_(request),
        group_(request.job.world()),
        world_(std::size_t(group_.size())),
        rank_(std::size_t(group_.rank())),
        parts_(shares.begin(), shares.end()) {}

  /// Collective, as are the members down to finish().
  FittedReplica fit() {
    begin();
    std::size_t batch = first_batch();
    while (!fits(batch)) batch = smaller(batch);
    agree_on_engines(group_, request_.config, request_.options, request_.backend,
                     [this](Backend& backend) { plan_on(backend); });
    while (!fits(batch) || !allocate()) batch = smaller(batch);
    return finish(batch);
  }

  void refit(FittedReplica& fitted) {
    const std::vector<std::size_t> before = fitted.plan.rank_batches();
    const std::size_t batch = fitted.plan.largest_micro_batch();
    asked_ = fitted.asked;
    room_ = {fitted.room, 1};
    fitted.replica->forget_plan();
    bool fit = fits(batch);
    if (!fit) {
      parts_.assign(before.begin(), before.end());
      static_cast<void>(fits(batch));  // as it did
      log(LogLevel::warn, "other parts of the global batch do not fit into memory; they stay");
    }
    together(group_, [&] { fitted.replica->take_plan(std::move(replica_plan_)); });
    run_.most_samples = fit ? fitted.plan.most_samples : before;
    fitted.plan = run_;
    fitted.memory = need_;
  }

 private:
  std::size_t smaller(std::size_t batch) {
    if (!halves() || batch == 1) refuse(batch);
    return batch / 2;
  }

  bool halves() const {
    return request_.config.batch.on_oom == OnOom::halve && !request_.batch_is_fixed;
  }

  bool wants_most() const {
    return request_.config.batch.global == 0 && request_.config.batch.per_rank == kMostThatFits;
  }

  /// Plans once before free memory is measured: libraries load what they need for it.
  void begin() {
    const auto first = std::size_t(wants_most());
    compile_in_turns(group_, request_.backend, [&] { plan(first); });
    together(group_, [&] {
      plan(first);
      if (!wants_most()) asked_ = run_.largest_micro_batch();
    });
    group_.barrier();
    room_ = measure_room(request_);
  }

  std::size_t first_batch() {
    if (!wants_most()) return asked_;
    const std::size_t parts = run_.sampler.parts;
    const std::size_t most =
        std::clamp<std::size_t>(request_.data.train.size() / parts, 1, kMostSamples);
    const auto bytes = std::size_t(double(room_.bytes) * kFilledPart);
    std::size_t mine = 0;
    together(group_, [&] { mine = largest(bytes, most); });
    return std::max<std::size_t>(1, min_over_ranks(group_, mine));
  }

  /// Leaves `batch` planned.
  bool fits(std::size_t batch) {
    bool here = false;
    compile_in_turns(group_, request_.backend, [&] { plan(batch); });
    together(group_, [&] {
      plan(batch);
      here = need_.total() <= room_.bytes;
    });
    return min_over_ranks(group_, here);
  }

  bool allocate() {
    const bool may_fail = halves();
    bool done = false;
    together(group_, [&] {
      try {
        replica_ =
            std::make_unique<Replica>(request_.graph, request_.backend, std::move(replica_plan_),
                                      request_.sums.all_reduce->arena());
        replica_->smooth_labels(float(request_.config.training.label_smoothing));
        // Whether there is the memory that training takes later.
        if (may_fail) {
          request_.backend.allocate(need_.optimizer + need_.accumulation + need_.messages +
                                    need_.images + need_.staging);
        }
        done = true;
      } catch (const OutOfMemory&) {
        if (!may_fail) throw;
      }
    });
    const bool everywhere = min_over_ranks(group_, done);
    if (!everywhere) replica_.reset();
    return everywhere;
  }

  /// The rank with the least room reports.
  [[noreturn]] void refuse(std::size_t batch) {
    MemoryShortage mine{
        .batch = batch, .place = {}, .limit = {}, .batch_is_fixed = request_.batch_is_fixed};
    together(group_, [&] {
      mine.need = plan(batch).total();
      mine.free = room_.bytes;
      mine.sharers = room_.sharers;
      mine.limit = room_.limit;
      mine.largest = batch;
      if (mine.need > mine.free) mine.largest = largest(room_.bytes, batch - 1);
    });
    const std::size_t largest = min_over_ranks(group_, mine.largest);
    std::string host = group_.host();
    if (!request_.job.uuid().empty()) host += ", " + request_.job.uuid();
    mine.place = fmt::format("rank {} ({})", group_.rank(), host);
    const auto remedies = remedies_of(request_.config, request_.backend, request_.batch_is_fixed);
    std::string said;  // nothing where another rank has less room
    if (mine.largest == largest && mine.need > mine.free) said = shortage_text(mine, remedies);
    for (const std::string& text : all_gather_text(group_, said))
      if (!text.empty()) throw_agreed(ExitCode::bad_input, text);
    throw_agreed(ExitCode::bad_input, "out of memory");
  }

  FittedReplica finish(std::size_t batch) {
    if (asked_ != 0 && batch != asked_) {
      log(LogLevel::warn,
          fmt::format("micro-batches of {} images do not fit into memory; halved to {} (--on-oom "
                      "halve), which changes the global batch to {}",
                      asked_, batch, run_.global_batch));
    }
    if (request_.config.batch.balance.by_speed)
      run_.most_samples = all_gather(group_, most_samples());
    return {run_, std::move(replica_), asked_, need_, room_.bytes};
  }

  /// The samples of a step that fit on this rank. Memory that the batch decides grows with it, or
  /// less.
  std::size_t most_samples() const {
    const std::size_t now = run_.rank_samples(run_.global_batch, rank_);
    if (room_.bytes == SIZE_MAX) return SIZE_MAX;
    const double left = double(room_.bytes) * kFilledPart - double(need_.of_model());
    return std::max(now, std::size_t(double(now) * std::max(left, 0.0) / double(need_.of_batch())));
  }

  // The following functions are of this rank alone.

  /// Where `batch` was asked for, as the configuration says.
  MemoryNeed plan(std::size_t batch) {
    Backend& backend = request_.backend;
    replica_plan_.reset();
    backend.forget_plans();
    TrainConfig config = request_.config;
    if (batch != asked_) {
      config.batch.per_rank = batch;
      config.batch.global = 0;
    }
    run_ = plan_run(config, world_, request_.data.train.size(), parts_);
    replica_plan_ = plan_on(backend);
    const bool streams = config.data.input == InputMode::stream;
    std::size_t held = request_.data.test.size();
    if (!streams || config.checks.audit_every > 0) held += request_.data.train.size();
    const std::size_t image_bytes = backend.image_bytes(held);
    need_ = training_memory(replica_plan_->memory(), request_.graph, run_.micro_batches,
                            message_floats(), image_bytes);
    if (streams)
      need_.staging =
          backend.stager_bytes(config.model.image_size, run_.largest_micro_batch(rank_));
    return need_;
  }

  /// The last plan, on another backend.
  std::unique_ptr<ReplicaPlan> plan_on(Backend& backend) const {
    const TrainConfig& config = request_.config;
    const std::size_t tested = config.training.eval_every > 0 ? request_.data.test.size() : 0;
    const std::size_t largest = run_.largest_micro_batch();
    std::vector<std::size_t> sizes;
    for (const std::size_t rank : ranks_computed())
      std::ranges::copy(micro_batch_sizes(run_, Sampler(run_.sampler), rank),
                        std::back_inserter(sizes));
    return std::make_unique<ReplicaPlan>(
        request_.graph, backend, sizes,
        plan_evaluation(tested, world_, rank_, largest, run_.sampler.shares).batch_sizes(),
        config.device.recompute, world_);
  }

  /// Whose micro-batches this rank will compute: an audit computes those of others.
  std::vector<std::size_t> ranks_computed() const {
    const TrainConfig& config = request_.config;
    if (config.checks.audit_every == 0 || config.checks.audit_by == AuditBy::self) return {rank_};
    if (run_.sampler.shares.empty()) return {rank_, 0, world_ - 1};  // these have all sizes
    std::vector<std::size_t> all(world_);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }

  /// The largest of at most `most` samples whose training takes at most
  /// `bytes`; a multiple of kUnit if that many fit.
  std::size_t largest(std::size_t bytes, std::size_t most) {
    const auto units = [this](std::size_t count) { return plan(count * kUnit); };
    const std::size_t found = largest_batch(bytes, most / kUnit, units) * kUnit;
    if (found > 0) return found;
    const auto single = [this](std::size_t batch) { return plan(batch); };
    return largest_batch(bytes, std::min(most, kUnit - 1), single);
  }

  /// Scratch memory is the buckets' in turn.
  std::size_t message_floats() const {
    std::size_t scratch = 0;
    std::size_t begin = 0;
    for (const std::size_t end : request_.sums.bucket_ends) {
      scratch = std::max(scratch, request_.sums.all_reduce->scratch_floats(end - begin));
      begin = end;
    }
    return scratch;
  }

  const FitRequest& request_;
  Communicator& group_;
  std::size_t world_;
  std::size_t rank_;
  std::vector<double> parts_;  ///< as plan_run takes them
  RunPlan run_;
  std::unique_ptr<ReplicaPlan> replica_plan_;
  MemoryNeed need_;
  Room room_;
  std::size_t asked_ = 0;
  std::unique_ptr<Replica> replica_;
};

}  // namespace

void describe_parts(RunRecord& run, const FittedReplica& fitted) {
  run.rank_batches = fitted.plan.rank_batches();
  run.micro_batch = fitted.plan.largest_micro_batch_of_all();
  // A batch that was halved was halved in all parts.
  run.micro_batch_asked = run.micro_batch * fitted.asked / fitted.plan.largest_micro_batch();
}

FittedReplica fit_replica(const FitRequest& request, const std::vector<std::size_t>& shares) {
  return Fitter(request, shares).fit();
}

void refit_replica(const FitRequest& request, const std::vector<std::size_t>& shares,
                   FittedReplica& fitted) {
  Fitter(request, shares).refit(fitted);
}

}  // namespace rueda
