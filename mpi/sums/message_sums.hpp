#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mpi/exchange/exchange.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/reduce/ring_plan.hpp"

// The all-reduces that send messages between all ranks: the ring, with fp32 and
// with bf16 on the wire, and in the fixed order; and those that send whole
// slices.

namespace rueda {

/// One message each way, in the journal; an empty span is none.
void transfer(Exchange& ranks, ReduceJournal& journal, const char* phase, int step,
              std::span<const float> send, int to, std::span<float> receive, int from);

/// An all-reduce that sends messages between ranks and adds on a device.
class MessageAllReduce : public AllReduce {
 public:
  /// Keeps `device`, which outlives it.
  MessageAllReduce(std::unique_ptr<Exchange> ranks, ReduceDevice& device)
      : ranks_(std::move(ranks)), device_(device) {}

  Event sum(std::span<float> slice, Event ready) final { return sum_now(slice, ready, false); }
  Event sum_exactly(std::span<float> slice, Event ready) final {
    return sum_now(slice, ready, true);
  }

 protected:
  /// Sums a slice that is ready and not empty over more than one rank.
  /// Everything has been awaited when it returns. `exactly`: with fp32 on the
  /// wire.
  virtual void add_up(std::span<float> slice, bool exactly) = 0;

  RingPlan plan_of(std::size_t length) const { return {length, ranks_->rank(), ranks_->size()}; }

  void exchange(const char* phase, int step, std::span<const float> send, int to,
                std::span<float> receive, int from) {
    transfer(*ranks_, journal(), phase, step, send, to, receive, from);
  }
  /// Adds, and waits for it: the sum may be sent then, and `from` received into again.
  void add(const char* phase, int step, std::span<float> into, std::span<const float> from);

  std::unique_ptr<Exchange> ranks_;
  ReduceDevice& device_;

 private:
  Event sum_now(std::span<float> slice, Event ready, bool exactly);
};

/// First half of the ring: afterwards this rank's slice holds the full sum of
/// chunk plan.owned(), and partial sums elsewhere. The caller has waited for
/// the slice to be ready. P-1 steps, in each of which a chunk travels in
/// segments of `segment` floats, the same on all ranks; 0: as a whole.
void ring_reduce_scatter(Exchange& ring, ReduceDevice& device, const RingPlan& plan,
                         std::span<float> slice, std::size_t segment, ReduceJournal& journal);

/// Second half: every rank brings chunk plan.owned() complete and leaves with
/// all of them. P-1 steps. No addition takes place, so all ranks end with the
/// owners' bits.
void ring_all_gather(Exchange& ring, const RingPlan& plan, std::span<float> slice,
                     ReduceJournal& journal);

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
    return ring_scratch_floats(length, ranks_->size(), segment_);
  }

 protected:
  void add_up(std::span<float> slice, bool exactly) override;
  std::size_t segment_;
};

/// The ring with bf16 on the wire: half the bytes. A partial sum is rounded
/// when it is sent, widened and added in fp32 when it has come; the owner of a
/// complete chunk rounds its own copy too, so that all ranks hold the same
/// bits.
///
/// So in each sum each rank rounds each element exactly once. With feedback it
/// keeps what that took, and adds it before it rounds the same element of the
/// arena the next time: over many sums nothing is lost.
class WireRingAllReduce final : public RingAllReduce {
 public:
  /// As RingAllReduce.
  WireRingAllReduce(std::unique_ptr<Exchange> ring, ReduceDevice& device, std::size_t segment,
                    bool feedback)
      : RingAllReduce(std::move(ring), device, segment), feedback_(feedback) {}

  std::string_view name() const override { return "ring, bf16 wire"; }
  std::size_t scratch_floats(std::size_t length) const override;
  std::size_t kept_floats(std::size_t length) const override {
    return feedback_ && ranks_->size() > 1 ? length : 0;
  }
  std::vector<std::span<float>> carried() override;

 private:
  /// What rounding took from the elements of a part of the arena.
  struct Lost {
    std::span<const float> of;
    std::span<float> values;
  };

  /// `exactly`: by the ring in fp32.
  void add_up(std::span<float> slice, bool exactly) override;
  /// Memory for the slice: the part of a longer slice that was summed before, or new.
  std::span<float> lost_by(std::span<const float> slice);
  void reduce_scatter(const RingPlan& plan, std::span<float> slice, std::span<float> lost,
                      std::span<float> scratch);
  void all_gather(const RingPlan& plan, std::span<float> slice, std::span<float> lost,
                  std::span<float> scratch);

  bool feedback_;
  std::vector<Lost> lost_;
};

/// Near which the fixed order keeps its scratch memory.
inline constexpr std::size_t kFixedScratch = std::size_t{1} << 20;

/// First half of the all-reduce in the fixed order: afterwards this rank's
/// slice holds, in chunk plan.owned(), the sum over ranks in the order of
/// TreeOrder, and elsewhere its own values. The caller has waited for the slice
/// to be ready. Chunks are worked through in blocks so that scratch memory
/// stays near `scratch_elements` floats; this changes no bit.
void fixed_reduce_scatter(Exchange& ranks, ReduceDevice& device, const RingPlan& plan,
                          std::span<float> slice, std::size_t scratch_elements,
                          ReduceJournal& journal);

/// Floats of scratch memory that this takes for a slice of `length` over `ranks` ranks.
std::size_t fixed_scratch_floats(std::size_t length, int ranks, std::size_t scratch_elements);

/// An all-reduce that adds the ranks' contributions in the order of TreeOrder,
/// which does not depend on the element's position in the slice. Hence the bits
/// do not depend on how the arena is cut into slices, and equal those of one
/// rank that adds as many micro-batches in the same order. It moves the same
/// bytes as the ring, but needs P-1 chunks in hand at once where the ring needs
/// one, and its first half talks to every rank instead of to neighbours.
class FixedOrderAllReduce final : public MessageAllReduce {
 public:
  /// `scratch_elements` as in fixed_reduce_scatter.
  FixedOrderAllReduce(std::unique_ptr<Exchange> ranks, ReduceDevice& device,
                      std::size_t scratch_elements = kFixedScratch)
      : MessageAllReduce(std::move(ranks), device), scratch_elements_(scratch_elements) {}

  std::string_view name() const override { return "fixed order"; }
  std::string details() const override {
    return std::to_string(ranks_->size()) + " chunks a bucket";
  }
  std::size_t scratch_floats(std::size_t length) const override {
    return fixed_scratch_floats(length, ranks_->size(), scratch_elements_);
  }

 private:
  void add_up(std::span<float> slice, bool exactly) override;
  std::size_t scratch_elements_;
};

/// Recursive doubling for any number of ranks: about log2 P messages of the
/// whole slice each way, where the ring has 2(P-1) of a P-th. Every element is
/// added in the order of TreeOrder, hence with the bits of the fixed order,
/// however the arena is cut into slices.
class DoublingAllReduce final : public MessageAllReduce {
 public:
  using MessageAllReduce::MessageAllReduce;

  std::string_view name() const override { return "doubling"; }
  std::size_t scratch_floats(std::size_t length) const override {
    return ranks_->size() > 1 ? length : 0;
  }

 private:
  /// Ranks first ... first+count-1, which are summed among themselves.
  struct Block {
    int first = 0;
    int count = 1;
  };
  void add_up(std::span<float> slice, bool exactly) override;
  /// Leaves the sum over `block` on each of its ranks; this one is among them.
  void sum_block(Block block, std::span<float> slice, std::span<float> incoming);
  /// Afterwards this rank and `peer` have the sum of their slices.
  void sum_with(int peer, std::span<float> slice, std::span<float> incoming);
  /// The first `have` ranks of `block` hold its sum; afterwards all `count` do.
  void spread(Block block, int have, std::span<float> slice);

  int step_ = 0;  ///< of the sum in hand
};

/// Everything to rank 0, which adds, and back: the obvious way, there to be compared. Rank 0 moves
/// 2(P-1) whole slices, one after another. It takes the contributions in the order of the ranks and
/// adds them along TreeOrder, hence with the bits of the fixed order.
class CentralAllReduce final : public MessageAllReduce {
 public:
  using MessageAllReduce::MessageAllReduce;

  std::string_view name() const override { return "central"; }
  /// On rank 0 as many slices as the tree has partial sums besides the first; elsewhere none.
  std::size_t scratch_floats(std::size_t length) const override;

 private:
  void add_up(std::span<float> slice, bool exactly) override;
  void collect(std::span<float> slice);
};

/// MPI_Allreduce in place on the same slice: the yardstick. The order of
/// addition is MPI's choice, and all time counts as transfer.
class MpiAllReduce final : public MessageAllReduce {
 public:
  using MessageAllReduce::MessageAllReduce;

  std::string_view name() const override { return "mpi"; }
  /// None of ours; MPI's own temporary memory is not known.

 private:
  void add_up(std::span<float> slice, bool) override {
    journal().transfer("MPI_Allreduce", 0, -1, -1, [&] { ranks_->all_reduce_sum(slice); });
  }
};

}  // namespace rueda
