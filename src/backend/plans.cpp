#include <algorithm>
#include <functional>
#include <numeric>

#include "backend/memory_plan.hpp"
#include "backend/program.hpp"
#include "rueda/backend/gradient_arena.hpp"

namespace rueda {
namespace {

/// Ends of the buckets of gradients, without the tail.
std::vector<std::size_t> gradient_ends(const Graph& graph, std::size_t most_bytes) {
  std::vector<std::size_t> ends;
  std::size_t begin = 0;
  std::size_t end = 0;
  for (const Parameter& p : graph.parameters()) {
    std::size_t most = most_bytes;
    if (ends.empty()) most = std::min(most_bytes, kOuterBucketBytes);
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

struct Placed {
  std::size_t begin;
  std::size_t end;
  std::size_t buffer;
};

/// The lowest offset where `bytes` fit between the neighbours, which come sorted by `begin`.
std::size_t lowest_gap(const std::vector<Placed>& placed, const std::vector<BufferLife>& buffers,
                       const BufferLife& life, std::size_t bytes) {
  std::size_t offset = 0;
  for (const Placed& p : placed) {
    if (!life.meets(buffers[p.buffer])) continue;
    if (offset + bytes <= p.begin) break;
    offset = std::max(offset, p.end);
  }
  return offset;
}

/// A subsampling shortcut is part of its block: the pooling that ends a stem has no way round it.
bool ends_block(const Graph& graph, const Node& node) {
  if (node.inputs.size() > 1) return true;
  return std::holds_alternative<MaxPoolNode>(node.kind) &&
         graph.readers(node.inputs.front()).size() == 1;
}

/// By node: the last node of its block.
std::vector<NodeId> block_ends(const Graph& graph) {
  std::vector<NodeId> ends(graph.nodes().size());
  NodeId end = graph.logits();
  for (NodeId node = graph.logits(); node >= 1; --node) {
    if (ends_block(graph, graph.node(node))) end = node;
    ends[index(node)] = end;
  }
  return ends;
}

/// The first in backward to read what `node` put out: the last reader that
/// keeps it, or the node itself; kNever if none does.
NodeId first_user(const Graph& graph, const std::vector<OperationNeeds>& needs, NodeId node) {
  NodeId user = RecomputePlan::kNever;
  if (needs[index(node)].keeps_output) user = node;
  for (const NodeId reader : graph.readers(node))
    if (needs[index(reader)].keeps_input && graph.node(reader).inputs.front() == node)
      user = reader;
  return user;
}

void plan_batch_norms(const Graph& graph, const std::vector<OperationNeeds>& needs,
                      RecomputePlan& plan) {
  for (NodeId node = 1; node <= graph.logits(); ++node) {
    const Node& n = graph.node(node);
    if (!std::holds_alternative<BatchNormNode>(n.kind) || n.inputs.size() > 1) continue;
    plan.before[index(node)] = first_user(graph, needs, node);
  }
}

/// Whatever a repeated node reads inside its block is repeated too.
void plan_blocks(const Graph& graph, const std::vector<OperationNeeds>& needs,
                 RecomputePlan& plan) {
  const std::vector<NodeId> ends = block_ends(graph);
  std::vector<bool> wanted(graph.nodes().size(), false);
  for (NodeId node = graph.logits(); node >= 1; --node) {
    const NodeId end = ends[index(node)];
    if (node == end) continue;
    if (!wanted[index(node)] && first_user(graph, needs, node) == RecomputePlan::kNever) continue;
    plan.before[index(node)] = end;
    for (const NodeId input : graph.node(node).inputs) wanted[index(input)] = true;
  }
}

}  // namespace

std::vector<std::size_t> plan_buckets(const Graph& graph, const BucketOptions& options) {
  const GradientLayout layout(graph, options.ranks);
  std::vector<std::size_t> ends;
  if (options.most_bytes > 0) ends = gradient_ends(graph, options.most_bytes);
  if (!ends.empty()) shorten_last(ends, graph);
  if (ends.empty()) ends.push_back(layout.parameters);
  if (options.tail_apart)
    ends.push_back(layout.total());
  else
    ends.back() = layout.total();
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

MemoryPlan plan_memory(const std::vector<BufferLife>& buffers) {
  MemoryPlan plan;
  plan.offsets.resize(buffers.size());
  std::vector<Placed> placed;
  std::vector<std::size_t> largest_first(buffers.size());
  std::iota(largest_first.begin(), largest_first.end(), std::size_t{0});
  std::ranges::stable_sort(largest_first, std::greater(),
                           [&](std::size_t b) { return buffers[b].bytes; });
  for (const std::size_t b : largest_first) {
    const std::size_t bytes = aligned_bytes(buffers[b].bytes);
    const std::size_t offset = lowest_gap(placed, buffers, buffers[b], bytes);
    const Placed p{offset, offset + bytes, b};
    placed.insert(std::ranges::upper_bound(placed, p.begin, {}, &Placed::begin), p);
    plan.offsets[b] = offset;
    plan.pool_bytes = std::max(plan.pool_bytes, p.end);
  }
  return plan;
}

RecomputePlan plan_recompute(const Graph& graph, const std::vector<OperationNeeds>& needs,
                             Recompute what) {
  RecomputePlan plan;
  plan.before.assign(graph.nodes().size(), RecomputePlan::kNever);
  if (what == Recompute::batch_norm) plan_batch_norms(graph, needs, plan);
  if (what == Recompute::block) plan_blocks(graph, needs, plan);
  return plan;
}

}  // namespace rueda
