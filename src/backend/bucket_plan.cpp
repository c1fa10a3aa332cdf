#include "rueda/backend/bucket_plan.hpp"

#include <algorithm>

#include "rueda/backend/gradient_arena.hpp"

namespace rueda {
namespace {

/// Ends of the buckets of gradients, without the tail.
std::vector<std::size_t> gradient_ends(const Graph& graph, std::size_t most_bytes) {
  std::vector<std::size_t> ends;
  std::size_t begin = 0;
  std::size_t end = 0;
  for (const Parameter& p : graph.parameters()) {
    const std::size_t most = ends.empty() ? std::min(most_bytes, kOuterBucketBytes) : most_bytes;
    if (end > begin && (p.offset + p.count - begin) * sizeof(float) > most) {
      ends.push_back(end);
      begin = end;
    }
    end = p.offset + p.count;
  }
  if (end > begin) ends.push_back(end);
  return ends;
}

/// Cuts the last parameters off the last bucket, where that is a long one.
void shorten_last(std::vector<std::size_t>& ends, const Graph& graph) {
  const std::size_t begin = ends.size() > 1 ? ends[ends.size() - 2] : 0;
  const std::size_t end = ends.back();
  for (const Parameter& p : graph.parameters()) {
    if (p.offset <= begin || (end - p.offset) * sizeof(float) > kOuterBucketBytes) continue;
    if ((end - begin) * sizeof(float) > kOuterBucketBytes) ends.insert(ends.end() - 1, p.offset);
    return;
  }
}

}  // namespace

std::vector<std::size_t> plan_buckets(const Graph& graph, const BucketOptions& options) {
  const GradientLayout layout(graph);
  std::vector<std::size_t> ends;
  if (options.most_bytes > 0) ends = gradient_ends(graph, options.most_bytes);
  if (!ends.empty()) shorten_last(ends, graph);
  if (ends.empty()) ends.push_back(layout.parameters);
  if (options.tail_apart) {
    ends.push_back(layout.total());
  } else {
    ends.back() = layout.total();
  }
  return ends;
}

std::vector<NodeId> completing_nodes(const Graph& graph, const std::vector<std::size_t>& ends) {
  std::vector<NodeId> nodes(ends.size(), graph.logits());
  for (NodeId id = graph.logits(); id >= 1; --id) {
    for_each_parameter(graph.node(id).kind, [&](ParameterId parameter) {
      const Parameter& p = graph.parameter(parameter);
      for (std::size_t i = 0; i < ends.size(); ++i) {
        const std::size_t begin = i == 0 ? 0 : ends[i - 1];
        if (p.offset < ends[i] && p.offset + p.count > begin) nodes[i] = std::min(nodes[i], id);
      }
    });
  }
  for (std::size_t i = 1; i < nodes.size(); ++i) nodes[i] = std::min(nodes[i], nodes[i - 1]);
  return nodes;
}

}  // namespace rueda
