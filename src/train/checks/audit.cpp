#include "train/checks/audit.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/error.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "train/checks/step_checks.hpp"
#include "train/run_plan.hpp"

namespace rueda {
namespace {

/// Streamed batches come once, so an audit reads the images again; null: nothing is streamed.
std::unique_ptr<TrainInput> input_besides_stream(const TrainerParts& parts,
                                                 const Sampler& sampler) {
  if (parts.config.data.input != InputMode::stream) return nullptr;
  return make_train_input(parts, sampler, InputMode::resident, parts.from);
}

std::size_t ranks_to_audit(const TrainerParts& parts) {
  if (parts.config.checks.audit_by == AuditBy::self) return 0;
  return parts.plan.world - 1;
}

}  // namespace

Audit::Audit(const TrainerParts& parts, const Sampler& sampler, TrainInput& input,
             PhaseTimer& timer, RunRecord& run)
    : parts_(parts),
      others_(ranks_to_audit(parts)),
      own_input_(input_besides_stream(parts, sampler)),
      input_(own_input_ ? *own_input_ : input),
      timer_(timer),
      run_(run) {}

bool Audit::due(std::size_t global_step) const {
  return parts_.config.checks.audit_every > 0 &&
         global_step % parts_.config.checks.audit_every == 0;
}

void Audit::begin(std::size_t global_step, std::size_t epoch, std::size_t step, float scale) {
  turn_ = audit_turn(global_step / parts_.config.checks.audit_every, others_,
                     parts_.plan.micro_batches);
  global_step_ = global_step;
  at_ = {epoch, step};
  under_way_ = true;
  scale_ = scale;
  theirs_ = compute((parts_.rank() + turn_.distance) % parts_.plan.world);
}

void Audit::computed() {
  if (under_way_) own_ = hashes();
}

void Audit::compare(const std::string& step) {
  ++run_.audit.steps;
  const auto everyones = [this](const Hashes& mine) {
    return from_bytes<std::uint64_t>(parts_.group.all_gather(std::as_bytes(std::span(mine))));
  };
  const auto own = everyones(own_), theirs = everyones(theirs_);
  std::vector<std::size_t> doubted;  // the owners
  for (std::size_t owner = 0; owner < own.size(); ++owner)
    if (own[owner] != theirs[auditor(owner)]) doubted.push_back(owner);
  under_way_ = false;
  if (doubted.empty()) return;
  std::set<std::size_t> wrong;
  for (const std::size_t owner : doubted)
    for (const std::size_t rank : wrong_ranks(owner, own, theirs)) wrong.insert(rank);
  std::string who;
  for (const std::size_t rank : wrong) {
    const RankInfo& info = run_.ranks.at(rank);
    if (!who.empty()) who += " or ";
    who += fmt::format("rank {} on {}", rank, info.host);
    if (!info.uuid.empty()) who += " (" + info.uuid + ")";
  }
  const std::size_t first = doubted.front();
  const std::string finding =
      fmt::format("wrong arithmetic at {}: {} computed another gradient from the same images: {}",
                  step, who, differences(own[first], theirs[auditor(first)]));
  run_.audit.findings.push_back(finding);
  throw_agreed(ExitCode::run_failed,
               finding + "; take the host out, or test its memory and processor");
}

std::size_t Audit::auditor(std::size_t owner) const {
  return (owner + parts_.plan.world - turn_.distance) % parts_.plan.world;
}

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
  input_.load({at_.epoch, at_.step, parts_.plan.virtual_rank(owner, turn_.micro_batch)}, timer_);
  timer_.enter(Phase::other);
  inject_flip(parts_.config, parts_.rank(), global_step_, false, parts_.replica);
  parts_.replica.compute(scale_);
  parts_.replica.disturb({});
  return hashes();
}

std::vector<std::size_t> Audit::wrong_ranks(std::size_t owner, const ByRank<std::uint64_t>& own,
                                            const ByRank<std::uint64_t>& theirs) {
  const std::size_t other = auditor(owner);
  if (owner == other) return {owner};
  std::size_t third = 0;
  while (parts_.plan.world > 2 && (third == owner || third == other)) ++third;
  Hashes mine;
  if (parts_.plan.world <= 2 || parts_.rank() == third) mine = compute(owner);
  auto again = from_bytes<std::uint64_t>(parts_.group.all_gather(std::as_bytes(std::span(mine))));
  std::erase_if(again, [](const Hashes& hashes) { return hashes.empty(); });
  if (std::ranges::count(again, again.front()) == std::ptrdiff_t(again.size())) {
    if (again.front() == theirs[other]) return {owner};
    if (again.front() == own[owner]) return {other};
  }
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
  std::string name = "the batch-norm statistics";
  if (first < parameters.size()) name = "the gradient of " + parameters[first].name;
  return fmt::format("{} of {} tensors differ, the first in the order of backward is {}", count,
                     one.size(), name);
}

}  // namespace rueda
