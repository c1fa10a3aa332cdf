#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "rueda/reduce/reduce_device.hpp"

namespace rueda {

class ReduceJournal;  // reduce/reduce_journal.hpp

/// Sums one slice of the gradient arena over all ranks, in place. It only sums:
/// the loss gradient is divided by the global sample count before, so partial
/// batches, empty shards and accumulation follow by themselves. Afterwards
/// every rank holds the same bits.
class AllReduce {
 public:
  virtual ~AllReduce() = default;
  virtual std::string_view name() const = 0;
  /// How it cuts a slice, or why it was chosen, for people: "2 chunks a bucket in segments of
  /// 256 KiB". May be empty.
  virtual std::string details() const { return ""; }
  /// Collective: all ranks pass slices of equal length in the same order. The
  /// slice may be read once `ready` has passed; it is reduced once the returned
  /// event has. What it does goes into `journal`. Throws RunError on MPI
  /// failure.
  virtual Event sum(std::span<float> slice, Event ready, ReduceJournal& journal) = 0;
  /// The same with fp32 on the wire whatever was asked for: for counts and
  /// statistics, which must not be rounded.
  virtual Event sum_exactly(std::span<float> slice, Event ready, ReduceJournal& journal) {
    return sum(slice, ready, journal);
  }

  /// The rows of the table by which it chooses (table_text); empty: it does not choose.
  virtual std::string table() const { return ""; }
  /// The all-reduce for slices of `length` floats: this one, or one among which it chooses.
  virtual AllReduce& for_length(std::size_t /*length*/) { return *this; }

  /// Memory of the length that it was made for, zeroed, from whose slices it
  /// sums without a copy; empty: any of the device's memory will do.
  virtual std::span<float> arena() { return {}; }

  /// Floats of the device's scratch memory that the sum of a slice of `length` takes on this rank.
  virtual std::size_t scratch_floats(std::size_t) const { return 0; }
};

}  // namespace rueda
