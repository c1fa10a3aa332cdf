#include "context.hpp"

#include <cstdlib>
#include <cstring>
#include <string>

#include <sys/mman.h>

#include "rueda/backend/memory_plan.hpp"
#include "rueda/core/error.hpp"

namespace rueda::cpu {
namespace {

constexpr std::size_t kHugePage = std::size_t{1} << 21U;
constexpr std::size_t kWorthHugePages = 8 * kHugePage;

}  // namespace

void HostMemory::Free::operator()(std::byte* p) const noexcept { std::free(p); }

HostMemory::HostMemory(std::size_t bytes) : size_(bytes) {
  const std::size_t alignment = bytes >= kWorthHugePages ? kHugePage : kBufferAlignment;
  const std::size_t room = std::max(aligned_bytes(bytes), kBufferAlignment);
  void* p = nullptr;
  if (posix_memalign(&p, alignment, room) != 0) {
    throw OutOfMemory(
        "out of memory: " + std::to_string(room) +
        " bytes in one piece were not to be had; lower --batch-per-rank or --image-size");
  }
  // A wish, before the first touch: where it is granted, training is some per cent faster.
  if (alignment == kHugePage) madvise(p, room / kHugePage * kHugePage, MADV_HUGEPAGE);
  std::memset(p, 0, room);
  data_.reset(static_cast<std::byte*>(p));
}

dnnl::memory::desc arena_conv_desc(const Parameter& w) {
  return {{w.dims[0], w.dims[3], w.dims[1], w.dims[2]},
          dnnl::memory::data_type::f32,
          dnnl::memory::format_tag::ohwi};
}

dnnl::memory::desc vector_desc(std::size_t count) {
  return {{static_cast<dnnl::memory::dim>(count)},
          dnnl::memory::data_type::f32,
          dnnl::memory::format_tag::x};
}

PackedWeights::Slot PackedWeights::request(ParameterId parameter, const dnnl::memory::desc& desc) {
  for (Slot slot = 0; slot < entries_.size(); ++slot) {
    if (entries_[slot].parameter == parameter && entries_[slot].desc == desc) return slot;
  }
  entries_.push_back({parameter, desc, {}, {}, {}});
  return entries_.size() - 1;
}

std::size_t PackedWeights::bytes() const {
  std::size_t sum = 0;
  for (const Entry& entry : entries_) sum += aligned_bytes(entry.desc.get_size());
  return sum;
}

void PackedWeights::allocate(const Graph& graph, const dnnl::engine& engine,
                             std::span<float> values) {
  storage_ = std::make_unique<HostMemory>(bytes());
  std::size_t offset = 0;
  for (Entry& entry : entries_) {
    const Parameter& weight = graph.parameter(entry.parameter);
    entry.plain = {arena_conv_desc(weight), engine, values.data() + weight.offset};
    entry.packed = {entry.desc, engine, storage_->data() + offset};
    entry.reorder = dnnl::reorder(entry.plain, entry.packed);
    offset += aligned_bytes(entry.desc.get_size());
  }
}

void PackedWeights::pack_all(const dnnl::stream& stream) {
  for (Entry& entry : entries_) {
    dnnl::stream s = stream;
    entry.reorder.execute(s, entry.plain, entry.packed);
  }
}

}  // namespace rueda::cpu
