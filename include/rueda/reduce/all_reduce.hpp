#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "rueda/reduce/reduce_device.hpp"
#include "rueda/reduce/reduce_journal.hpp"

namespace rueda {

/// Sums one slice of the gradient arena over all ranks, in place. It only sums: the loss gradient
/// is divided by the global sample count before, so partial batches, empty shards and accumulation
/// follow by themselves. Afterwards every rank holds the same bits.
class AllReduce {
 public:
  virtual ~AllReduce() = default;
  virtual std::string_view name() const = 0;
  /// Collective: all ranks pass slices of equal length in the same order. The slice may be read
  /// once `ready` has passed; it is reduced once the returned event has. Throws RunError on MPI
  /// failure.
  virtual Event sum(std::span<float> slice, Event ready) = 0;

  /// Floats of the device's scratch memory that the sum of a slice of `length` takes on this rank.
  virtual std::size_t scratch_floats(std::size_t length) const = 0;

  /// Where its work is written down.
  virtual ReduceJournal& journal() { return journal_; }

 private:
  ReduceJournal journal_;
};

}  // namespace rueda
