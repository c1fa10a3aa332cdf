#include "rueda/backend/replica_plan.hpp"

#include <algorithm>

#include "rueda/backend/gradient_arena.hpp"

namespace rueda {

ReplicaPlan::ReplicaPlan(const Graph& graph, Backend& backend,
                         const std::vector<std::size_t>& train_batches,
                         const std::vector<std::size_t>& infer_batches)
    : graph_(graph),
      backend_(backend),
      train_(programs(train_batches, Mode::train)),
      infer_(programs(infer_batches, Mode::infer)) {}

ReplicaPlan::Programs ReplicaPlan::programs(const std::vector<std::size_t>& batches, Mode mode) {
  Programs programs;
  for (const std::size_t batch : batches) {
    if (batch == 0 || programs.contains(batch)) continue;
    auto program = std::make_unique<Program>(graph_, backend_, static_cast<int>(batch), mode);
    pool_bytes_ = std::max(pool_bytes_, program->pool_bytes());
    programs.emplace(batch, std::move(program));
  }
  return programs;
}

MemoryNeed ReplicaPlan::memory() const {
  const GradientLayout layout(graph_);
  return {.parameters = layout.parameters * sizeof(float),
          .gradients = layout.total() * sizeof(float),
          .statistics = 2 * layout.statistics * sizeof(float),
          .packed = backend_.packed_bytes(),
          .activations = pool_bytes_,
          .workspace = backend_.scratch_bytes()};
}

void ReplicaPlan::bind(std::byte* pool) {
  for (auto& [batch, program] : train_) program->bind(pool);
  for (auto& [batch, program] : infer_) program->bind(pool);
}

}  // namespace rueda
