#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "commands/bench/bench.hpp"
#include "rueda/backend/backend.hpp"
#include "rueda/reduce/algorithm.hpp"
#include "rueda/reduce/all_reduce.hpp"
#include "rueda/reduce/rank_group.hpp"

namespace rueda::bench {

/// Ranks up to which sums of whole numbers stay below 2^24, so that fp32 has them exactly.
inline constexpr int kMostExactRanks = 4096;

/// Numbers of which each rank and each index has its own, and the test of their sums.
class KnownSums {
 public:
  enum class Kind {
    whole,  ///< whole numbers whose sums are exact in any order of addition
    real,   ///< of random digits, from -1 to 1: sums differ by the order, within `error_bound`
  };
  /// Of `ranks`, at most kMostExactRanks.
  KnownSums(Kind kind, int ranks, Wire wire) : kind_(kind), ranks_(ranks), wire_(wire) {}

  /// What rank `rank` brings, from index `first` on.
  void fill(int rank, std::size_t first, std::span<float> values) const;
  /// The first index of `sums`, which begins at index `first` of the slice,
  /// that is not the sum of what all ranks brought; nothing if all are right.
  std::optional<std::size_t> first_wrong(std::size_t first, std::span<const float> sums) const;

  /// How far a sum of real numbers may be off, as a share of the sum of their
  /// magnitudes: (1+u)^(P-1) - 1 with u = 2^-24, since no order of P-1
  /// additions rounds a value oftener. With w = 2^-8 for a bf16 wire, where a
  /// value is also rounded at each of at most P hops and once by the owner,
  /// (1+u)^(P-1) (1+w)^(P+1) - 1.
  static double error_bound(int ranks, Wire wire);

 private:
  float value(int rank, std::uint32_t index) const;

  Kind kind_;
  int ranks_;
  Wire wire_;
};

/// Seconds of each repetition, the slowest rank's.
using Seconds = std::vector<double>;

/// On what sums are measured.
struct TestBed {
  RankGroup& group;
  Backend& backend;
  Wire wire = Wire::fp32;
};

/// An all-reduce and the backend's memory that it sums in place.
struct Candidate {
  AllReduce* reduce = nullptr;
  std::span<float> memory;
};

/// How long one length is measured.
struct Effort {
  std::size_t repetitions = 0;  ///< 0: by the length, 15 to 500
  double seconds = 10;          ///< after this no further repetition begins, except the first 3
};

/// Collective: each candidate sums the first `floats` of its memory again and
/// again. Each repetition takes all of them, in an order of its own. Barriers
/// stand before and after each sum. Every element of every sum is tested, whole
/// numbers and real ones alternately. Warm-up sums are not counted. On every
/// rank the same times, in the order of `candidates`. Throws RunError naming
/// algorithm, rank and element for a wrong sum.
std::vector<Seconds> measure(const TestBed& bed, std::span<const Candidate> candidates,
                             std::size_t floats, const Effort& effort);

/// Where something was measured: what tables and files of figures say of it.
struct SystemInfo {
  std::string started_at;  ///< UTC, ISO 8601
  std::vector<std::pair<std::string, std::string>> versions;
  std::vector<std::string> hosts;  ///< of each rank
  std::string backend;
  std::string device;
  std::string transport;
  std::vector<int> threads;  ///< of each rank
  Wire wire = Wire::fp32;
  std::size_t ranks() const { return hosts.size(); }
};

/// What one way to sum did at one size.
struct Row {
  Size size;
  Seconds seconds;
  std::string algorithm = {};
};

/// A whole measurement.
struct Record {
  SystemInfo system;
  std::size_t segment_bytes = 0;
  bool verifies_messages = false;
  std::string choice;  ///< what `auto` takes and why; empty: it was not measured
  std::vector<std::pair<std::string, std::string>> left_out;  ///< algorithm, why
  std::vector<Row> rows;                                      ///< by size
};

/// The figures of a row. docs/bench.md defines them.
struct Figures {
  double median = 0;  ///< seconds
  double p99 = 0;
  // By the median. None on one rank.
  std::optional<double> algbw{}, busbw{};  ///< GB/s
  std::optional<double> times_mpi{};       ///< median of MPI_Allreduce / median of this one
};
Figures figures_of(const Row& row, std::size_t ranks, const Row* mpi);

/// The row of MPI_Allreduce at that size, or null.
const Row* mpi_row(const std::vector<Row>& rows, const Size& size);

/// Above the table: ranks, hosts, memory, way to MPI, what was left out, columns. Every line within
/// 100 columns where the names of devices allow.
std::string table_head(const Record& record);

/// The lines of one size; `rows` are all of that size.
std::string table_rows(const std::vector<Row>& rows, std::size_t ranks);

/// Each host's number, in the order in which ranks name them first.
std::vector<int> layout_of(const std::vector<std::string>& hosts);

/// "4 ranks on 2 hosts (node1: 2, node2: 2)".
std::string ranks_text(const std::vector<std::string>& hosts);

/// The record as docs/bench.md describes it: one JSON object.
std::string record_json(const Record& record);

}  // namespace rueda::bench
