#include "audit.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "rueda/core/random.hpp"

namespace rueda {
namespace {

std::uint64_t combined(const std::vector<std::uint64_t>& hashes) {
  std::uint64_t sum = 0;
  for (const std::uint64_t hash : hashes) sum = mix64(sum ^ hash);
  return sum;
}

}  // namespace

Audit::Audit(const TrainerParts& parts, const Sampler& sampler, TrainInput& input,
             PhaseTimer& timer, RunRecord& run)
    : parts_(parts),
      own_input_(parts.config.input == InputMode::stream
                     ? make_train_input(parts, sampler, InputMode::resident)
                     : nullptr),
      input_(own_input_ ? *own_input_ : input),
      timer_(timer),
      run_(run) {}

bool Audit::due(std::size_t global_step) const {
  return parts_.config.audit_every > 0 && global_step % parts_.config.audit_every == 0;
}

void Audit::begin(std::size_t global_step, std::size_t epoch, std::size_t step, float scale) {
  const std::size_t number = global_step / parts_.config.audit_every;
  const std::size_t others = std::max<std::size_t>(parts_.plan.world - 1, 1);
  distance_ = 1 + number % others;
  micro_batch_ = number / others % parts_.plan.micro_batches;
  at_ = {epoch, step};
  under_way_ = true;
  scale_ = scale;
  theirs_ = compute((parts_.rank() + distance_) % parts_.plan.world);
}

std::size_t Audit::auditor(std::size_t owner) const {
  return (owner + parts_.plan.world - distance_ % parts_.plan.world) % parts_.plan.world;
}

/// One for each parameter, and one for the batch statistics.
Audit::Hashes Audit::hashes() const {
  Replica& replica = parts_.replica;
  Hashes all;
  for (const Parameter& p : replica.graph().parameters())
    all.push_back(replica.backend().hash(replica.gradients().subspan(p.offset, p.count)));
  const GradientLayout layout(replica.graph());
  all.push_back(replica.backend().hash(
      replica.gradients().subspan(layout.statistics_offset(), layout.statistics)));
  return all;
}

Audit::Hashes Audit::compute(std::size_t owner) {
  input_.load({at_.epoch, at_.step, parts_.plan.virtual_rank(owner, micro_batch_)}, timer_);
  timer_.enter(Phase::other);
  parts_.replica.compute(scale_);
  return hashes();
}

bool Audit::finds(const std::string& step, bool repeated) {
  struct Sums {
    std::uint64_t own, theirs;
  };
  if (!repeated) ++run_.audit.steps;
  const auto sums = all_gather(parts_.group, Sums{combined(own_), combined(theirs_)});
  std::vector<std::size_t> doubted;  // the owners
  for (std::size_t owner = 0; owner < sums.size(); ++owner)
    if (sums[owner].own != sums[auditor(owner)].theirs) doubted.push_back(owner);
  under_way_ = false;
  if (doubted.empty()) return false;

  const auto everyones = [this](const Hashes& mine) {
    return from_bytes<std::uint64_t>(parts_.group.all_gather(std::as_bytes(std::span(mine))));
  };
  const auto own = everyones(own_), theirs = everyones(theirs_);
  std::set<std::size_t> wrong;
  for (const std::size_t owner : doubted)
    for (const std::size_t rank : wrong_ranks(owner, own, theirs)) wrong.insert(rank);
  std::string who;
  for (const std::size_t rank : wrong) {
    const RankInfo& info = run_.ranks.at(rank);
    who += fmt::format("{}rank {} on {}{}", who.empty() ? "" : " or ", rank, info.host,
                       info.uuid.empty() ? "" : " (" + info.uuid + ")");
  }
  const std::size_t first = doubted.front();
  const std::string finding =
      fmt::format("wrong arithmetic at {}: {} computed another gradient from the same images: {}",
                  step, who, differences(own[first], theirs[auditor(first)]));
  run_.audit.findings.push_back(finding);
  if (repeated || parts_.config.on_audit == OnAudit::stop)
    throw_agreed(ExitCode::run_failed, finding + (repeated ? "; the step was computed twice" : "") +
                                           "; take the host out, or test its memory and processor");
  parts_.observer.on_remark(finding + "; the step is computed again");
  parts_.replica.parameters_changed();
  return true;
}

/// From three ranks on a third one decides. Two ranks, or one, compute again: if
/// that agrees, what differs from it was wrong; if not, nobody can say.
std::vector<std::size_t> Audit::wrong_ranks(std::size_t owner, const ByRank<std::uint64_t>& own,
                                            const ByRank<std::uint64_t>& theirs) {
  const std::size_t other = auditor(owner);
  std::size_t third = 0;
  while (parts_.plan.world > 2 && (third == owner || third == other)) ++third;
  const bool computes = parts_.plan.world <= 2 || parts_.rank() == third;
  const Hashes mine = computes ? compute(owner) : Hashes();
  auto again = from_bytes<std::uint64_t>(parts_.group.all_gather(std::as_bytes(std::span(mine))));
  std::erase_if(again, [](const Hashes& hashes) { return hashes.empty(); });
  if (owner != other && std::ranges::count(again, again.front()) == std::ptrdiff_t(again.size())) {
    if (again.front() == theirs[other]) return {owner};
    if (again.front() == own[owner]) return {other};
  }
  if (owner == other) return {owner};
  return {owner, other};
}

std::string Audit::differences(const Hashes& one, const Hashes& other) const {
  std::size_t count = 0, first = one.size();
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (one[i] == other[i]) continue;
    ++count;
    first = std::min(first, i);
  }
  const auto& parameters = parts_.replica.graph().parameters();
  const std::string name = first < parameters.size() ? "the gradient of " + parameters[first].name
                                                     : "the batch-norm statistics";
  return fmt::format("{} of {} tensors differ, the first in the order of backward is {}", count,
                     one.size(), name);
}

}  // namespace rueda
