#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"

namespace rueda {

/// Where rank 0's steady clock stands against this rank's.
struct ClockOffset {
  double seconds = 0;  ///< to add to this rank's time to get rank 0's
  double error = 0;    ///< by which that is wrong at most
};

/// The ranks of a run, for everything outside `mpi/`. Every member but rank()
/// and size() is a collective: all ranks call it in the same order. Failures
/// throw RunError.
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

/// Marks an error that every rank throws alike: one rank reports it for all,
/// and MPI can still be finalized. Any other error may be of one rank alone,
/// while its peers wait in a collective: that rank must report it and abort the
/// job.
struct Agreed {};

/// Whether all ranks throw `error` alike.
bool is_agreed(const std::exception& error);

/// Throws InputError or RunError, by `code`, marked as agreed. Every rank calls it, alike.
[[noreturn]] void throw_agreed(ExitCode code, const std::string& message);
/// An agreed InputError unless `holds`, which is alike on every rank.
inline void require_agreed(bool holds, const std::string& otherwise) {
  if (!holds) throw_agreed(ExitCode::bad_input, otherwise);
}

/// Runs `work` (no collectives inside) on every rank, then agrees on failure:
/// if it threw anywhere, every rank throws the error of the lowest failing
/// rank, with that rank named in front unless all failed alike. So a rank that
/// finds its input damaged never leaves the others in a collective. The exit
/// code is kept; an exception that is not a rueda::Error becomes a RunError.
void together(RankGroup& group, const std::function<void()>& work);

/// Collective: every rank's text, in rank order, on every rank.
std::vector<std::string> all_gather_text(RankGroup& group, const std::string& mine);

/// Collective: rank 0 logs every rank's text as "rank N: TEXT", and each other
/// rank its own. An empty one is none, and one that equals its predecessor's is
/// not repeated.
void log_of_ranks(RankGroup& group, LogLevel level, const std::string& mine);

/// Collective: rank 0 does `work`, as in `together`, and every rank gets its text.
std::string text_of_rank_0(RankGroup& group, const std::function<std::string()>& work);

/// Collective: every rank's value, in rank order, on every rank.
template <typename T>
std::vector<T> all_gather(RankGroup& group, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all;
  for (const auto& bytes : group.all_gather(std::as_bytes(std::span(&mine, 1)))) {
    T one{};
    std::memcpy(&one, bytes.data(), sizeof(T));
    all.push_back(one);
  }
  return all;
}

/// Each rank's values, which may differ in number.
template <typename T>
using ByRank = std::vector<std::vector<T>>;

/// What `gather` or `all_gather` brought.
template <typename T>
ByRank<T> from_bytes(const std::vector<RankGroup::Bytes>& gathered) {
  ByRank<T> all;
  for (const auto& bytes : gathered) {
    auto& values = all.emplace_back(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  }
  return all;
}

/// Collective: the least and the greatest of all ranks' values, on every rank.
template <typename T>
T min_over_ranks(RankGroup& group, const T& mine) {
  return std::ranges::min(all_gather(group, mine));
}
template <typename T>
T max_over_ranks(RankGroup& group, const T& mine) {
  return std::ranges::max(all_gather(group, mine));
}

/// Collective: the ranks for which `condition` holds, ascending, on every rank.
std::vector<std::size_t> ranks_where(RankGroup& group, bool condition);

/// Collective: refuses ranks that do not have the same `text`, one fact a line.
/// Every rank throws the same InputError, which names the first rank that
/// differs from rank 0, its host, and the first line that differs. `what` is
/// its subject, for example "the configuration".
void require_same(RankGroup& group, const std::string& what, const std::string& text);

/// "rank 2", "ranks 0 and 2", "ranks 0, 2 and 5".
std::string rank_list(const std::vector<std::size_t>& ranks);

/// The name of this machine in messages and run records; "unknown host" if it has none.
std::string host_name();

/// Prints `message` and ends this process at once: no destructor runs, which
/// might wait for a thread that is stuck. The launcher then ends the other
/// ranks.
[[noreturn]] void end_process(const std::string& message, ExitCode code) noexcept;

}  // namespace rueda
