#include "run/wiring/reduce_rule.hpp"

#include <string>

namespace rueda {
namespace {

std::string place_text(const ReduceSituation& situation) {
  if (situation.hosts == 1) return "one host without shared memory for gradients";
  if (situation.most_on_a_host == 1) return "several hosts of one rank each";
  return "several hosts of several ranks";
}

std::size_t small_bytes(const ReduceSituation& situation) {
  const bool pair = situation.hosts == 1 && situation.most_on_a_host == 2;
  return pair && situation.memory_is_on_host ? kSmallBytesOfPair : kSmallBytes;
}

}  // namespace

std::size_t usual_segment_bytes(const ReduceSituation& situation) {
  const bool between_hosts = situation.hosts > 1;
  if (situation.memory_is_on_host) return between_hosts ? 0 : kHostSegmentBytes;
  if (between_hosts) return kDeviceSegmentBytes;
  return cost::best_segment_bytes(kDevicesOfHost, std::size_t(situation.most_on_a_host));
}

ReduceTable reduce_rule(const ReduceSituation& situation) {
  const bool rounds = situation.wire == Wire::bf16;
  if (situation.may_share && situation.memory_is_on_host && !rounds) {
    return {.rows = {{.way = {Algorithm::shared, 0}}},
            .why = "by the rule for one host with shared memory"};
  }
  ReduceTable table;
  if (!rounds) table.rows.push_back({small_bytes(situation), {Algorithm::doubling, 0}});
  const bool nested = situation.hosts > 1 && situation.most_on_a_host > 1;
  table.rows.push_back({.way = {nested ? Algorithm::hierarchical : Algorithm::ring,
                                usual_segment_bytes(situation)}});
  table.why = "by the rule for " + place_text(situation);
  return table;
}

}  // namespace rueda
