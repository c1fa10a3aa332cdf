#include "train/checks/step_checks.hpp"

#include <algorithm>
#include <bit>
#include <csignal>
#include <limits>
#include <optional>

#include <fmt/ranges.h>

#include "base/element_hash.hpp"
#include "base/random.hpp"

namespace rueda {
namespace {

/// The lowest bit: too small to be seen in any loss, which is what the replica check is for.
float bit_flipped(float value, std::uint64_t bit = 0) {
  return std::bit_cast<float>(kernels::bits_of(value) ^ 1U << bit);
}

template <typename Change>
void overwrite(Replica& replica, std::span<float> values, std::size_t element,
               const Change& change) {
  const std::span<float> at = values.subspan(element, 1);
  float value = 0;
  replica.backend().download({&value, 1}, at);
  value = change(value);
  replica.backend().upload(at, {&value, 1});
}

std::string tensor_name(const Replica& replica, std::size_t tensor) {
  const auto& parameters = replica.graph().parameters();
  if (tensor < parameters.size()) return "parameter " + parameters[tensor].name;
  return "batch-norm running statistics";
}

std::span<float> tensor_values(Replica& replica, std::size_t tensor) {
  if (tensor == replica.graph().parameters().size()) return replica.running_statistics();
  return replica.parameter(static_cast<ParameterId>(tensor));
}

/// The first tensor on which some rank differs from rank 0; none if all agree.
std::optional<std::size_t> first_difference(const std::vector<ReplicaHashes>& all) {
  for (std::size_t i = 0; i < all.front().size(); ++i)
    if (std::ranges::any_of(all, [&](auto& hashes) { return hashes[i] != all[0][i]; })) return i;
  return std::nullopt;
}

/// The hash that more than half of the ranks have, if any.
std::optional<std::uint64_t> majority(const std::vector<ReplicaHashes>& all, std::size_t tensor) {
  const auto vote = [tensor](const ReplicaHashes& hashes) { return hashes[tensor]; };
  for (const ReplicaHashes& candidate : all) {
    const auto votes = std::ranges::count(all, candidate[tensor], vote);
    if (2 * std::size_t(votes) > all.size()) return candidate[tensor];
  }
  return std::nullopt;
}

std::string shown(std::size_t rank, float value) {
  return fmt::format("rank {} has {:.9g} (bits {:08x})", rank, double(value),
                     kernels::bits_of(value));
}

/// Element, and its values on rank 0 and on the first rank that differs from it there.
std::string first_element(const std::vector<std::vector<float>>& copies) {
  for (std::size_t i = 0; i < copies.front().size(); ++i) {
    for (std::size_t r = 1; r < copies.size(); ++r) {
      if (kernels::bits_of(copies[r][i]) == kernels::bits_of(copies[0][i])) continue;
      return fmt::format("element {}: {}, {}", i, shown(0, copies[0][i]), shown(r, copies[r][i]));
    }
  }
  return "no element found (the tensor changed meanwhile)";
}

/// The ranks whose replica is wrong, by the best evidence there is.
std::string verdict(const std::vector<ReplicaHashes>& all, std::size_t tensor,
                    const std::vector<std::size_t>& changed) {
  if (!changed.empty()) {
    return rank_list(changed) +
           " differs from its own hash before the update: its memory changed "
           "between two steps";
  }
  const auto right = majority(all, tensor);
  std::vector<std::size_t> wrong;
  for (std::size_t r = 0; r < all.size(); ++r)
    if (!right || all[r][tensor] != *right) wrong.push_back(r);
  if (right) return rank_list(wrong) + " differs from the majority";
  return "no majority, so any of " + rank_list(wrong) +
         " may be wrong; --check-replicas step finds out which one and when";
}

}  // namespace

void inject_fault(const InjectedFault& fault, std::size_t rank, std::size_t step,
                  Replica& replica) {
  if (std::size_t(fault.rank) != rank || fault.step != step) return;
  using Kind = InjectedFault::Kind;  // corrupt_message is injected where messages arrive
  if (fault.kind == Kind::flip_bit)
    overwrite(replica, replica.parameters(), replica.parameters().size() / 2,
              [](float value) { return bit_flipped(value); });
  if (fault.kind == Kind::nan)
    overwrite(replica, replica.parameters(), 0,
              [](float) { return std::numeric_limits<float>::quiet_NaN(); });
  if (fault.kind == Kind::kill) std::raise(SIGKILL);
  if (fault.kind == Kind::stop) replica.ask_to_stop();
  if (fault.kind == Kind::hang) std::raise(SIGSTOP);
}

void inject_flip(const TrainConfig& config, std::size_t rank, std::size_t step, bool meant,
                 Replica& replica) {
  const InjectedFault& fault = config.checks.fault;
  const bool now = fault.permanent ? step >= fault.step : meant && step == fault.step;
  if (std::size_t(fault.rank) != rank || !now) return;
  const std::uint64_t random = mix64(mix64(config.training.seed + rank) ^ fault.step);
  const auto flip = [&replica, random](std::span<float> values) {
    overwrite(replica, values, random / 32 % values.size(),
              [random](float value) { return bit_flipped(value, random % 32); });
  };
  if (fault.kind == InjectedFault::Kind::flip_weight) {
    // Until the micro-batch is over: some operations read the parameters, others packed copies.
    flip(replica.parameters());
    replica.parameters_changed();
    replica.disturb([&replica, flip](Mark done) {
      if (done != Mark::backward) return;
      flip(replica.parameters());
      replica.parameters_changed();
    });
  }
  if (fault.kind == InjectedFault::Kind::flip_activation)
    replica.disturb([&replica, flip](Mark done) {
      if (done == Mark::forward) flip(replica.activations());
    });
  if (fault.kind == InjectedFault::Kind::flip_gradient)
    replica.disturb([&replica, flip](Mark done) {
      if (done == Mark::backward) flip(replica.gradients().first(replica.parameters().size()));
    });
}

std::string step_in_words(std::size_t epoch, std::size_t step) {
  return "epoch " + std::to_string(epoch) + ", step " + std::to_string(step);
}

void stop_unless_finite(RankGroup& group, bool finite, const std::string& what,
                        const std::string& remedy) {
  const auto culprits = ranks_where(group, !finite);
  if (culprits.empty()) return;
  throw_agreed(ExitCode::run_failed,
               fmt::format("{} on rank {}: {}", what, fmt::join(culprits, ", "), remedy));
}

ReplicaHashes hash_replica(Replica& replica) {
  ReplicaHashes hashes;
  const std::size_t tensors = replica.graph().parameters().size() + 1;
  hashes.reserve(tensors);
  for (std::size_t t = 0; t < tensors; ++t)
    hashes.push_back(replica.backend().hash(tensor_values(replica, t)));
  return hashes;
}

std::string combined_hash(const ReplicaHashes& hashes) {
  std::uint64_t combined = 0;
  for (const std::uint64_t h : hashes) combined = mix64(combined ^ h);
  return fmt::format("{:016x}", combined);
}

void ReplicaCheck::before_update() {
  if (every_step()) changed_by_itself_ = hash_replica(replica_) != last_;
}

std::string ReplicaCheck::compare(const std::string& when) {
  last_ = hash_replica(replica_);
  if (often_ == CheckReplicas::off) return combined_hash(last_);
  const auto all = from_bytes<std::uint64_t>(group_.all_gather(std::as_bytes(std::span(last_))));
  const auto tensor = first_difference(all);
  if (!tensor) return combined_hash(last_);
  const std::span<float> values = tensor_values(replica_, *tensor);
  std::vector<float> mine(values.size());
  replica_.backend().download(mine, values);
  const auto copies = from_bytes<float>(group_.all_gather(std::as_bytes(std::span(mine))));
  const std::vector<std::size_t> changed = ranks_where(group_, changed_by_itself_);
  throw_agreed(ExitCode::run_failed,
               fmt::format("replicas differ {}: {}, {}; {}", when, tensor_name(replica_, *tensor),
                           first_element(copies), verdict(all, *tensor, changed)));
}

std::string ReplicaCheck::check_parameters(const TrainPosition& position, const std::string& when) {
  stop_unless_finite(
      group_, replica_.parameters_are_finite(),
      "a parameter is NaN or infinite after " + step_in_words(position.epochs + 1, position.steps));
  return compare(when);
}

}  // namespace rueda
