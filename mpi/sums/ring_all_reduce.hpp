#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "mpi/sums/message_all_reduce.hpp"

namespace rueda {

/// Whether the device adds while messages travel.
inline bool adds_meanwhile(const ReduceDevice& device) { return !device.memory_is_on_host(); }

/// First half of the ring: afterwards this rank's slice holds the full sum of
/// the chunk that it owns (RingPlan), and partial sums elsewhere. The caller has waited for
/// the slice to be ready. P-1 steps, in each of which a chunk travels in
/// segments of `segment` floats, the same on all ranks; 0: as a whole.
void ring_reduce_scatter(const SumPlace& place, std::span<float> slice, std::size_t segment);

/// Second half: every rank brings the chunk that it owns complete and leaves
/// with all of them. P-1 steps. No addition takes place, so all ranks end with the
/// owners' bits.
void ring_all_gather(const SumPlace& place, std::span<float> slice);

/// The ring all-reduce of Patarasuk and Yuan (2009), with MPI_Sendrecv: 2(P-1)
/// steps, each of which moves one P-th of the slice to the right neighbour and
/// takes another from the left one. Chunk c is added up in the order in which
/// it travels, beginning with rank c: the result depends on the number of ranks
/// and the slice's bounds, and on nothing else, segments included.
class RingAllReduce : public MessageAllReduce {
 public:
  /// Keeps `device`, which outlives it. A chunk is added in segments of
  /// `segment` floats while the next one travels; 0: whole chunks.
  RingAllReduce(std::unique_ptr<Exchange> ring, ReduceDevice& device, std::size_t segment = 0)
      : MessageAllReduce(std::move(ring), device), segment_(segment) {}

  std::string_view name() const override { return "ring"; }
  /// "2 chunks a bucket in segments of 256 KiB".
  std::string details() const override;
  std::size_t scratch_floats(std::size_t length) const override {
    return ring_scratch_floats(length, ranks_->size(), segment_, adds_meanwhile(device_));
  }

 protected:
  void add_up(const SumPlace& place, std::span<float> slice, bool exactly) override;
  std::size_t segment_;
};

}  // namespace rueda
