#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "rueda/core/error.hpp"

namespace rueda {

/// Where rank 0's steady clock stands against this rank's.
struct ClockOffset {
  double seconds = 0;  ///< to add to this rank's time to get rank 0's
  double error = 0;    ///< by which that is wrong at most
};

/// The ranks of a run, as everything outside `mpi/` sees them. Every member but rank() and size()
/// is a collective: all ranks call it in the same order. Failures throw RunError.
class RankGroup {
 public:
  using Bytes = std::vector<std::byte>;

  virtual ~RankGroup() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual void barrier() = 0;
  /// Overwrites `data` on every rank with the root's. Lengths agree.
  virtual void broadcast(std::span<std::byte> data, int root) = 0;
  /// Every rank's bytes in rank order on every rank; lengths may differ.
  virtual std::vector<Bytes> all_gather(std::span<const std::byte> mine) = 0;
  /// The same, on `root` only; empty elsewhere.
  virtual std::vector<Bytes> gather(std::span<const std::byte> mine, int root) = 0;
  /// Compares the clocks. None to compare where all ranks are one process.
  virtual ClockOffset clock_offset() { return {}; }
};

/// A group of one: a run without MPI (tests, tools).
class SoloGroup final : public RankGroup {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void barrier() override {}
  void broadcast(std::span<std::byte>, int) override {}
  std::vector<Bytes> all_gather(std::span<const std::byte> mine) override {
    return {Bytes(mine.begin(), mine.end())};
  }
  std::vector<Bytes> gather(std::span<const std::byte> mine, int) override {
    return all_gather(mine);
  }
};

/// Marks an error that every rank throws alike: one rank may speak for all, and MPI can still be
/// finalized. Any other error may be one rank's own, with its peers waiting in a collective: the
/// rank that saw it must report it and abort the job.
struct Agreed {};

/// Whether all ranks throw `error` alike.
bool is_agreed(const std::exception& error);

/// Throws InputError or RunError, by `code`, marked as agreed. Every rank calls it, alike.
[[noreturn]] void throw_agreed(ExitCode code, const std::string& message);

/// Runs `work` (no collectives inside) on every rank, then agrees on failure: if it threw anywhere,
/// every rank throws the error of the lowest failing rank, with that rank named in front unless all
/// failed alike. So a rank that finds its input damaged never leaves the others in a collective.
/// The exit code is kept; an exception that is not a rueda::Error becomes a RunError.
void together(RankGroup& group, const std::function<void()>& work);

/// Every rank's text, in rank order, on every rank.
std::vector<std::string> all_gather_text(RankGroup& group, const std::string& mine);

}  // namespace rueda
