#include "replica_check.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "rueda/core/random.hpp"
#include "rueda/kernels/element_hash.hpp"
#include "rueda/reduce/rank_group.hpp"

namespace rueda {
namespace {

std::string tensor_name(const Replica& replica, std::size_t tensor) {
  const auto& parameters = replica.graph().parameters();
  return tensor < parameters.size() ? "parameter " + parameters[tensor].name
                                    : "batch-norm running statistics";
}

std::span<float> tensor_values(Replica& replica, std::size_t tensor) {
  if (tensor == replica.graph().parameters().size()) return replica.running_statistics();
  return replica.parameter(static_cast<ParameterId>(tensor));
}

/// The first tensor on which some rank differs from rank 0; none if all agree.
std::optional<std::size_t> first_difference(const std::vector<ReplicaHashes>& all) {
  std::size_t first = all.front().size();
  for (const ReplicaHashes& hashes : all) {
    const auto [mine, zero] = std::mismatch(hashes.begin(), hashes.end(), all.front().begin());
    first = std::min(first, static_cast<std::size_t>(mine - hashes.begin()));
  }
  return first == all.front().size() ? std::nullopt : std::optional(first);
}

/// The hash that more than half of the ranks have, if any.
std::optional<std::uint64_t> majority(const std::vector<ReplicaHashes>& all, std::size_t tensor) {
  for (const ReplicaHashes& candidate : all) {
    const auto votes = std::count_if(all.begin(), all.end(), [&](const ReplicaHashes& h) {
      return h[tensor] == candidate[tensor];
    });
    if (2 * static_cast<std::size_t>(votes) > all.size()) return candidate[tensor];
  }
  return std::nullopt;
}

std::string shown(std::size_t rank, float value) {
  char text[64];
  std::snprintf(text, sizeof text, "rank %zu has %.9g (bits %08x)", rank,
                static_cast<double>(value), kernels::bits_of(value));
  return text;
}

/// Element, and its values on rank 0 and on the first rank that differs from it there.
std::string first_element(const std::vector<std::vector<float>>& copies) {
  for (std::size_t i = 0; i < copies.front().size(); ++i) {
    for (std::size_t r = 1; r < copies.size(); ++r) {
      if (kernels::bits_of(copies[r][i]) == kernels::bits_of(copies[0][i])) continue;
      return "element " + std::to_string(i) + ": " + shown(0, copies[0][i]) + ", " +
             shown(r, copies[r][i]);
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
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (!right || all[r][tensor] != *right) wrong.push_back(r);
  }
  if (right) return rank_list(wrong) + " differs from the majority";
  return "no majority, so any of " + rank_list(wrong) +
         " may be wrong; --check-replicas step finds out which one and when";
}

}  // namespace

ReplicaHashes hash_replica(Replica& replica) {
  ReplicaHashes hashes;
  const std::size_t tensors = replica.graph().parameters().size() + 1;
  hashes.reserve(tensors);
  for (std::size_t t = 0; t < tensors; ++t) {
    hashes.push_back(replica.backend().hash(tensor_values(replica, t)));
  }
  return hashes;
}

std::string combined_hash(const ReplicaHashes& hashes) {
  std::uint64_t combined = 0;
  for (const std::uint64_t h : hashes) combined = mix64(combined ^ h);
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(combined));
  return text;
}

void ReplicaCheck::before_update() {
  changed_by_itself_ = !last_.empty() && hash_replica(replica_) != last_;
}

std::string ReplicaCheck::compare(const std::string& when) {
  last_ = hash_replica(replica_);
  const auto all = from_bytes<std::uint64_t>(group_.all_gather(std::as_bytes(std::span(last_))));
  if (first_difference(all)) report(when, all);
  return combined_hash(last_);
}

void ReplicaCheck::report(const std::string& when, const std::vector<ReplicaHashes>& all) {
  const std::size_t tensor = *first_difference(all);
  std::vector<float> mine(tensor_values(replica_, tensor).size());
  replica_.backend().download(mine, tensor_values(replica_, tensor));
  const auto copies = from_bytes<float>(group_.all_gather(std::as_bytes(std::span(mine))));
  const std::vector<std::size_t> changed = ranks_where(group_, changed_by_itself_);
  throw_agreed(ExitCode::run_failed,
               "replicas differ " + when + ": " + tensor_name(replica_, tensor) + ", " +
                   first_element(copies) + "; " + verdict(all, tensor, changed));
}

}  // namespace rueda
