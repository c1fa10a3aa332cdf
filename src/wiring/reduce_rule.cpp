#include "reduce_rule.hpp"

namespace rueda {

std::size_t usual_segment_bytes(bool memory_is_on_host, bool between_hosts) {
  if (!memory_is_on_host) return kDeviceSegmentBytes;
  return between_hosts ? 0 : kHostSegmentBytes;
}

ReduceTable reduce_rule(const ReduceSituation& situation) {
  ReduceTable table;
  const bool rounds = situation.wire == Wire::bf16;
  if (situation.may_share && situation.memory_is_on_host && !rounds) {
    table.rows.push_back({.way = {Algorithm::shared, 0}});
    return table;
  }
  if (!rounds) table.rows.push_back({kSmallBytes, {Algorithm::doubling, 0}});
  const bool nested = situation.hosts > 1 && situation.most_on_a_host > 1;
  table.rows.push_back(
      {.way = {nested ? Algorithm::hierarchical : Algorithm::ring,
               usual_segment_bytes(situation.memory_is_on_host, situation.hosts > 1)}});
  return table;
}

}  // namespace rueda
