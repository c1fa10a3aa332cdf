#include "operations.hpp"
#include "rueda/backend/gradient_arena.hpp"

namespace rueda::cuda {
namespace {

constexpr std::size_t kBf16Bytes = 2;

}  // namespace

void PackedWeights::request(const Graph& graph, ParameterId id, Element element, int stored) {
  const Parameter& p = graph.parameter(id);
  const int channels = p.dims.back();  // (out, height, width, in)
  if (stored != channels) {
    padded_[id] = {element, stored, p.count / std::size_t(channels), channels, {}};
  } else if (element == Element::bf16) {
    const GradientLayout layout(graph);
    lead_ = layout.lead();
    mirrored_floats_ = layout.parameters;
  }
}

std::size_t PackedWeights::bytes() const {
  std::size_t sum = mirrored_floats_ == 0 ? 0 : (lead_ + mirrored_floats_) * kBf16Bytes;
  for (const auto& [id, padded] : padded_) sum += padded.bytes();
  return sum;
}

void PackedWeights::allocate(std::span<const float> values) {
  values_ = values;
  if (mirrored_floats_ > 0) mirror_ = make_device_memory((lead_ + mirrored_floats_) * kBf16Bytes);
  for (auto& [id, padded] : padded_) padded.memory = make_device_memory(padded.bytes());
}

void PackedWeights::pack_all(const Graph& graph, cudaStream_t stream) {
  if (mirrored_floats_ > 0) {
    auto* to = static_cast<std::byte*>(mirror_.get()) + lead_ * kBf16Bytes;
    check(to_bf16(to, values_.data(), values_.size(), stream), "to_bf16");
  }
  for (const auto& [id, p] : padded_) {
    const float* from = values_.data() + graph.parameter(id).offset;
    check(pad_channels(p.element, p.memory.get(), from, p.rows, p.channels, p.stored, stream),
          "pad_channels");
  }
}

const void* PackedWeights::at(const Graph& graph, ParameterId id) const {
  const auto padded = padded_.find(id);
  if (padded != padded_.end()) return padded->second.memory.get();
  const std::size_t offset = graph.parameter(id).offset;
  if (mirrored_floats_ == 0) return values_.data() + offset;
  return static_cast<const std::byte*>(mirror_.get()) + (lead_ + offset) * kBf16Bytes;
}

}  // namespace rueda::cuda
