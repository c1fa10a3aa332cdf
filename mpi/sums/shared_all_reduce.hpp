#pragma once

#include <vector>

#include "rueda/reduce/all_reduce.hpp"
#include "shared_window.hpp"

namespace rueda {

/// For ranks of one host whose gradients are in host memory: no messages at all. Each rank sums its
/// chunk of the slice straight from the arenas of all ranks, in the order of TreeOrder, and writes
/// the sum into all of them: every element is read once and written once by one rank, which is the
/// least that memory can do. Ranks wait for each other by flags in the window.
///
/// That is for slices of `arena()`. A slice that lies elsewhere, or is short, goes through
/// mailboxes: each rank puts a copy into its own, and adds up all of them itself.
class SharedAllReduce final : public AllReduce {
 public:
  /// Floats of a mailbox.
  static constexpr std::size_t kMailboxFloats = 4096;
  /// Up to here, one meeting and all additions on every rank are quicker than two meetings and each
  /// addition once, for slices of the arena, too.
  static constexpr std::size_t kShortFloats = 256;

  /// Collective. `ranks` share one host; `device` has its memory there. Both outlive this.
  SharedAllReduce(const Communicator& ranks, ReduceDevice& device, std::size_t arena_floats,
                  std::size_t mailbox_floats = kMailboxFloats);

  std::string_view name() const override { return "shared"; }
  Event sum(std::span<float> slice, Event ready) override;
  std::span<float> arena() override { return window_.arena(ranks_.rank()); }
  std::size_t scratch_floats(std::size_t) const override { return 0; }

 private:
  using Offer = SharedWindow::Offer;

  bool in_arena(std::span<const float> slice) const;
  void sum_in_place(std::span<float> slice);
  void sum_by_mailbox(std::span<float> block);
  /// Publishes `mine`, waits for the offers of all, and checks that these are the same.
  void meet(const Offer& mine);
  /// Waits until all have come as far as this rank.
  void wait_for_all();

  const Communicator& ranks_;
  ReduceDevice& device_;
  SharedWindow window_;
  std::uint32_t round_ = 0;  ///< meetings so far
  std::vector<const float*> from_;
  std::vector<float*> to_;
  std::size_t mailbox_floats_;
};

}  // namespace rueda
