#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "backend/memory_plan.hpp"
#include "base/bfloat16.hpp"
#include "cpu/context.hpp"
#include "cpu/parallel.hpp"

namespace rueda::cpu {
namespace {

using tag = dnnl::memory::format_tag;

/// A tile holds the weights of 16 outputs and 16 inputs at one place of the kernel.
constexpr std::size_t kSide = 16;
constexpr std::size_t kTile = kSide * kSide;

using Layout = TiledWeight::Layout;
constexpr std::array kLayouts = {
    // tag, bf16, inputs first, transposed
    Layout{tag::OIhw16i16o, false, false, true},  Layout{tag::OIhw16o16i, false, false, false},
    Layout{tag::IOhw16o16i, false, true, false},  Layout{tag::OIhw8i16o2i, true, false, true},
    Layout{tag::OIhw8o16i2o, true, false, false}, Layout{tag::IOhw8o16i2o, true, true, false}};

/// Null where the weight does not fill tiles, or the layout is another.
const Layout* tiled_layout(const Parameter& weight, const dnnl::memory::desc& desc) {
  if (std::size_t(weight.dims[0]) % kSide != 0 || std::size_t(weight.dims[3]) % kSide != 0)
    return nullptr;
  const auto* found = std::ranges::find_if(kLayouts, [&](const Layout& layout) {
    return desc == conv_weight_desc(weight, layout.bf16, layout.tag);
  });
  if (found == kLayouts.end()) return nullptr;
  return found;
}

std::uint32_t bits_of(float value, std::uint32_t) { return std::bit_cast<std::uint32_t>(value); }
std::uint16_t bits_of(float value, std::uint16_t) {
  return kernels::from_float<kernels::Bfloat16>(value).bits;
}

/// Past the caches: before the next product reads it, all other weights are packed.
template <typename Bits>
void store(Bits* to, const std::array<Bits, kTile>& tile) {
#if defined(__SSE2__)
  for (std::size_t i = 0; i < kTile; i += sizeof(__m128i) / sizeof(Bits))
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                     *reinterpret_cast<const __m128i*>(tile.data() + i));
#else
  std::ranges::copy(tile, to);
#endif
}

/// `tile`, which lies by output and then input, in the order of a tiled layout.
template <typename Bits>
void reorder(const std::array<Bits, kTile>& tile, bool transposed, std::array<Bits, kTile>& to) {
  constexpr std::size_t pair = sizeof(float) / sizeof(Bits);
  if (!transposed) {
    for (std::size_t o = 0; o < kSide; o += pair)
      for (std::size_t i = 0; i < kSide; ++i)
        for (std::size_t p = 0; p < pair; ++p)
          to[o * kSide + i * pair + p] = tile[(o + p) * kSide + i];
    return;
  }
  const auto* pairs = reinterpret_cast<const std::array<Bits, pair>*>(tile.data());
  auto* out = reinterpret_cast<std::array<Bits, pair>*>(to.data());
  for (std::size_t i = 0; i < kSide / pair; ++i)
    for (std::size_t o = 0; o < kSide; ++o) out[i * kSide + o] = pairs[o * (kSide / pair) + i];
}

/// Reads the weight once, tile by tile, and writes every copy of it.
template <typename Bits>
void pack(const TiledWeight& w) {
  const std::size_t inputs = w.columns * kSide;
  parallel_for(w.rows * w.places * w.columns, [=, &w](std::size_t index) {
    const std::size_t column = index % w.columns, place = index / w.columns % w.places;
    const std::size_t row = index / w.columns / w.places;
    const float* from = w.values + (row * kSide * w.places + place) * inputs + column * kSide;
    alignas(kBufferAlignment) std::array<Bits, kTile> tile, ordered;
    for (std::size_t o = 0; o < kSide; ++o)
      for (std::size_t i = 0; i < kSide; ++i)
        tile[o * kSide + i] = bits_of(from[o * w.places * inputs + i], Bits{});
    for (const auto& [memory, layout] : w.copies) {
      const std::size_t block =
          layout->inputs_first ? column * w.rows + row : row * w.columns + column;
      reorder(tile, layout->transposed, ordered);
      store(reinterpret_cast<Bits*>(memory) + (block * w.places + place) * kTile, ordered);
    }
  });
}

}  // namespace

PackedWeights::Slot PackedWeights::request(ParameterId parameter, const dnnl::memory::desc& desc) {
  for (Slot slot = 0; slot < entries_.size(); ++slot)
    if (entries_[slot].parameter == parameter && entries_[slot].desc == desc) return slot;
  entries_.push_back({parameter, desc});
  return entries_.size() - 1;
}

std::size_t PackedWeights::bytes() const {
  std::size_t sum = 0;
  for (const Entry& entry : entries_) sum += aligned_bytes(entry.desc.get_size());
  return sum;
}

void PackedWeights::allocate(const Graph& graph, const dnnl::engine& engine,
                             std::span<float> values) {
  storage_ = host_memory(bytes());
  std::byte* free = storage_.data();
  for (Entry& entry : entries_) {
    const Parameter& weight = graph.parameter(entry.parameter);
    entry.packed = {entry.desc, engine, free};
    float* const from = values.data() + weight.offset;
    if (const Layout* layout = tiled_layout(weight, entry.desc)) {
      TiledWeight& tiled = tiled_[entry.parameter];
      tiled.values = from;
      tiled.rows = std::size_t(weight.dims[0]) / kSide;
      tiled.columns = std::size_t(weight.dims[3]) / kSide;
      tiled.places = std::size_t(weight.dims[1]) * std::size_t(weight.dims[2]);
      tiled.copies.push_back({free, layout});
    } else {
      reorders_.push_back(reorder_call({conv_weight_desc(weight), engine, from}, entry.packed));
    }
    free += aligned_bytes(entry.desc.get_size());
  }
}

void PackedWeights::pack_all(dnnl::stream& stream) {
  for (const auto& [_, weight] : tiled_) {
    if (weight.copies.front().layout->bf16)
      pack<std::uint16_t>(weight);
    else
      pack<std::uint32_t>(weight);
  }
  for (PrimitiveCall& call : reorders_) call.run(stream);
}

}  // namespace rueda::cpu
