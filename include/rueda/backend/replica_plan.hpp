#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "rueda/backend/memory_need.hpp"
#include "rueda/backend/program.hpp"

namespace rueda {

/// A graph planned on a backend for every batch size that will occur, before anything is allocated:
/// what a replica is made from, and what gives its memory before it exists.
class ReplicaPlan {
 public:
  using Programs = std::map<std::size_t, std::unique_ptr<Program>>;

  /// Batch sizes are those of single micro-batches; 0 is ignored. The backend outlives the plan.
  ReplicaPlan(const Graph& graph, Backend& backend, const std::vector<std::size_t>& train_batches,
              const std::vector<std::size_t>& infer_batches, Recompute recompute = Recompute::none);

  const Programs& train() const noexcept { return train_; }
  const Programs& infer() const noexcept { return infer_; }
  /// All programs share one pool: bytes of the largest.
  std::size_t pool_bytes() const noexcept;
  /// What a replica will hold; optimizer, accumulation and messages are not its own.
  MemoryNeed memory() const;
  void bind(std::byte* pool);

 private:
  Programs programs(const std::vector<std::size_t>& batches, Mode mode) const;

  Graph graph_;  ///< as the backend runs it
  Backend& backend_;
  Recompute recompute_;
  Programs train_;
  Programs infer_;
};

}  // namespace rueda
