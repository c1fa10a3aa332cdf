#include <algorithm>
#include <cstdint>

#include "cuda/operations/operations.hpp"
#include "rueda/backend/gradient_arena.hpp"

namespace rueda::cuda {

void PackedWeights::request(const Graph& graph, ParameterId id, Element element,
                            const std::optional<kernels::RowWindows>& windows) {
  if (windows) {
    const std::size_t rows = graph.parameter(id).count / std::size_t(windows->values);
    padded_[id] = {element, rows, windows->values, windows->stored, {}};
  } else if (element == Element::bf16) {
    const GradientLayout layout(graph);
    lead_ = layout.lead();
    narrow_[graph.parameter(id).offset] = graph.parameter(id).count;
    mirrored_ = layout.lead() + layout.parameters;
  }
}

std::size_t PackedWeights::bytes() const {
  std::size_t sum = 2 * mirrored_ * sizeof(kernels::Bfloat16);
  for (const auto& [id, padded] : padded_) sum += padded.bytes();
  return sum;
}

void PackedWeights::allocate(std::span<const float> values) {
  values_ = values;
  mirror_ = make_device_memory(mirrored_ * sizeof(kernels::Bfloat16));
  gradients_ = make_device_memory(mirrored_ * sizeof(kernels::Bfloat16));
  for (auto& [id, padded] : padded_) padded.memory = make_device_memory(padded.bytes());
}

void PackedWeights::pack_all(const Graph& graph, cudaStream_t stream) {
  if (mirror_) to_bf16(mirror(mirror_), values_.data(), values_.size(), stream);
  pack_padded(graph, stream);
}

void PackedWeights::pack_padded(const Graph& graph, cudaStream_t stream) {
  for (const auto& [id, p] : padded_) {
    const float* from = values_.data() + graph.parameter(id).offset;
    pad_channels(p.element, p.memory.get(), from, p.rows, p.values, p.stored, stream);
  }
}

kernels::Bfloat16* PackedWeights::copy_of(const float* value) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(values_.data());
  const auto bytes = reinterpret_cast<std::uintptr_t>(value) - begin;
  if (!mirror_ || bytes >= values_.size_bytes()) return nullptr;  // also of what lies before
  return mirror(mirror_) + bytes / sizeof(float);
}

const void* PackedWeights::at(const Graph& graph, ParameterId id) const {
  const auto padded = padded_.find(id);
  if (padded != padded_.end()) return padded->second.memory.get();
  const std::size_t offset = graph.parameter(id).offset;
  if (!mirror_) return values_.data() + offset;
  return mirror(mirror_) + offset;
}

void PackedWeights::gradient_computed(const Graph& graph, ParameterId id) {
  const Parameter& p = graph.parameter(id);
  if (!left_) computed_.push_back({p.offset, p.count});
}

void PackedWeights::unpack_gradients(float* arena, cudaStream_t stream) {
  to_fp32(arena, mirror(gradients_), computed_, stream);
  computed_.clear();
}

NarrowGradients PackedWeights::left_gradients(Range part) const {
  if (!left_) return {};
  NarrowGradients left{mirror(gradients_) + part.begin, {}};
  for (const auto& [offset, count] : narrow_) {
    const std::size_t begin = std::max(offset, part.begin);
    const std::size_t end = std::min(offset + count, part.end);
    if (begin < end) left.slices.push_back({begin - part.begin, end - begin});
  }
  return left;
}

}  // namespace rueda::cuda
