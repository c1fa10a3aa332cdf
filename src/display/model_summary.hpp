#pragma once

#include <cstddef>
#include <string>

#include "backend/roof.hpp"
#include "display/text.hpp"
#include "rueda/backend/memory_need.hpp"
#include "rueda/model/graph.hpp"

namespace rueda {

/// What `rueda summary` prints: a line per layer (name, type, output as
/// channels x height x width, parameters, MFLOP of forward per image), then
/// totals per image and per batch. A batch norm's running statistics count as
/// non-trainable parameters; its line shows the trainable ones.
std::string model_summary(const Graph& graph, std::size_t batch_per_rank);

/// Passes of layers by time, the longest first: rates, and the share of what the
/// roof allows. Empty without a profile.
std::string layer_table(const LayerProfile& profile);

/// The parts of a rank's memory in their two groups, with sums. Leaves out parts of 0 bytes.
std::string memory_table(const MemoryNeed& need);

/// A batch that the memory of one rank does not hold.
struct MemoryShortage {
  std::size_t batch = 0;        ///< samples of a rank and micro-batch
  std::size_t need = 0;         ///< bytes
  std::size_t free = 0;         ///< bytes that the rank may take
  std::size_t sharers = 1;      ///< ranks that share the memory, this one included
  std::size_t largest = 0;      ///< batch that fits; 0: none
  std::string place;            ///< for example "rank 3 (node17, GPU-8f2c...)"
  std::string limit;            ///< that leaves so little, for example "ulimit -v"; empty: none
  bool batch_is_fixed = false;  ///< by the run that is resumed
};

/// How much memory is missing on which rank, and the remedies: a smaller batch,
/// or one of `remedies`, options with their values.
std::string shortage_text(const MemoryShortage& shortage, const Texts& remedies);

}  // namespace rueda
