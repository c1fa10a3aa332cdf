#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <string>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "commands/bench/record.hpp"
#include "reduce/reduce_journal.hpp"
#include "rueda/train/timings.hpp"

namespace rueda::bench {
namespace {

constexpr std::size_t kPiece = 1U << 16U;  // floats that pass through host memory at once
constexpr std::size_t kLeastRepetitions = 3;
constexpr std::size_t kSummed = 1024;    // numbers at once
constexpr std::uint32_t kDigits = 1024;  // of a whole number, by its index

/// An odd multiplier: equal pieces of the slice begin with different values wherever they are cut.
std::uint32_t spread(std::uint32_t index) { return index * 0x9e3779b1U; }

/// The distance between the whole numbers of two ranks: so small that sums stay below 2^24.
std::uint32_t stride(int ranks) {
  const auto p = std::uint32_t(ranks);
  const std::uint32_t left = (1U << 24U) / p - kDigits;
  return std::min(1009U, std::max(1U, 2 * left / std::max(1U, p)));
}

std::uint32_t mixed(std::uint32_t x) {
  x = (x ^ (x >> 15U)) * 0x2c1b3c6dU;
  return x ^ (x >> 12U);
}

/// Sums of one length.
class Sums {
 public:
  Sums(const TestBed& bed, std::size_t floats)
      : bed_(bed), floats_(floats), piece_(std::min(kPiece, floats)) {}

  /// The seconds of a sum on this rank. A wrong sum is kept for `agree`: other ranks do not see it.
  double time(const Candidate& candidate, KnownSums::Kind kind) {
    const KnownSums values(kind, bed_.group.size(), bed_.wire);
    const auto slice = candidate.memory.first(floats_);
    ReduceDevice& device = bed_.backend.reduce_device();
    fill(values, slice);
    bed_.group.barrier();
    const Stopwatch watch;
    device.wait(candidate.reduce->sum(slice, device.record(), unread_));
    const double seconds = watch.seconds();
    bed_.group.barrier();  // no rank computes while another one that shares its core still sums
    const std::string wrong = find_wrong(values, slice);
    if (!wrong.empty() && fault_.empty()) fault_ = std::string(candidate.reduce->name()) + wrong;
    return seconds;
  }

  /// Collective: throws what any rank has found wrong.
  void agree() {
    together(bed_.group, [this] {
      if (!fault_.empty()) throw RunError(fault_);
    });
  }

 private:
  std::span<float> host_piece(std::size_t first) {
    return std::span(piece_).first(std::min(kPiece, floats_ - first));
  }

  void fill(const KnownSums& values, std::span<float> slice) {
    for (std::size_t first = 0; first < floats_; first += kPiece) {
      const auto host = host_piece(first);
      values.fill(bed_.group.rank(), first, host);
      bed_.backend.upload(slice.subspan(first, host.size()), host);
      bed_.backend.finish();
    }
  }

  /// The first wrong element in words; empty if there is none.
  std::string find_wrong(const KnownSums& values, std::span<const float> slice) {
    for (std::size_t first = 0; first < floats_; first += kPiece) {
      const auto host = host_piece(first);
      bed_.backend.download(host, slice.subspan(first, host.size()));
      const auto wrong = values.first_wrong(first, host);
      if (!wrong) continue;
      return fmt::format(": wrong sum in element {} of {}", first + *wrong, floats_);
    }
    return {};
  }

  const TestBed& bed_;
  std::size_t floats_;
  std::vector<float> piece_;
  std::string fault_;
  ReduceJournal unread_;
};

/// Fewer of long ones, which vary less.
std::size_t repetitions_of(std::size_t bytes, const Effort& effort) {
  if (effort.repetitions > 0) return effort.repetitions;
  return std::clamp<std::size_t>(400'000'000 / std::max<std::size_t>(bytes, 1), 15, 500);
}

/// Rank 0's clock decides for all.
bool time_is_up(RankGroup& group, const Stopwatch& watch, double limit) {
  return all_gather(group, watch.seconds() > limit).front();
}

Seconds slowest_of(RankGroup& group, const Seconds& mine) {
  Seconds slowest(mine.size(), 0.0);
  for (const Seconds& theirs :
       from_bytes<double>(group.all_gather(std::as_bytes(std::span(mine))))) {
    for (std::size_t i = 0; i < mine.size(); ++i) slowest[i] = std::max(slowest[i], theirs[i]);
  }
  return slowest;
}

}  // namespace

float KnownSums::value(int rank, std::uint32_t index) const {
  const auto r = std::uint32_t(rank);
  if (kind_ == Kind::whole) {
    return float(r * stride(ranks_) + (spread(index) >> 22U) + 1);
  }
  return float(std::int32_t(mixed(spread(index) + r * 0x85ebca6bU))) * 0x1p-31F;
}

void KnownSums::fill(int rank, std::size_t first, std::span<float> values) const {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = value(rank, std::uint32_t(first + i));
}

std::optional<std::size_t> KnownSums::first_wrong(std::size_t first,
                                                  std::span<const float> sums) const {
  double bound = error_bound(ranks_, wire_);
  if (kind_ == Kind::whole && wire_ == Wire::fp32) bound = 0;
  for (std::size_t begin = 0; begin < sums.size(); begin += kSummed) {
    const std::size_t count = std::min(kSummed, sums.size() - begin);
    std::array<double, kSummed> sum{};
    std::array<double, kSummed> magnitude{};
    for (int rank = 0; rank < ranks_; ++rank) {
      for (std::size_t i = 0; i < count; ++i) {
        const double x = value(rank, std::uint32_t(first + begin + i));
        sum[i] += x;
        magnitude[i] += std::abs(x);
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      // Not ">": a NaN is wrong, too.
      if (!(std::abs(sums[begin + i] - sum[i]) <= bound * magnitude[i])) return begin + i;
    }
  }
  return std::nullopt;
}

double KnownSums::error_bound(int ranks, Wire wire) {
  const double additions = (ranks - 1) * std::log1p(0x1p-24);
  if (wire == Wire::fp32) return std::expm1(additions);
  return std::expm1(additions + (ranks + 1) * std::log1p(0x1p-8));
}

std::vector<Seconds> measure(const TestBed& bed, std::span<const Candidate> candidates,
                             std::size_t floats, const Effort& effort) {
  const Stopwatch watch;
  const std::size_t bytes = floats * sizeof(float);
  const std::size_t count = repetitions_of(bytes, effort);
  const std::size_t warm_up = bytes < 1'000'000 ? 4 : 1;
  std::vector<Seconds> seconds(candidates.size());
  Sums sums(bed, floats);
  // What ran before leaves caches in its favour or not: each comes after each other one, in an
  // order that is the same on all ranks.
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), 0);
  std::minstd_rand random;
  for (std::size_t round = 0; round < warm_up + count; ++round) {
    const auto kind = round % 2 == 0 ? KnownSums::Kind::whole : KnownSums::Kind::real;
    std::ranges::shuffle(order, random);
    for (const std::size_t turn : order) {
      const double taken = sums.time(candidates[turn], kind);
      if (round >= warm_up) seconds[turn].push_back(taken);
    }
    sums.agree();
    const std::size_t done = round + 1 - std::min(round + 1, warm_up);
    if (time_is_up(bed.group, watch, effort.seconds) && done >= kLeastRepetitions) break;
  }
  for (Seconds& series : seconds) series = slowest_of(bed.group, series);
  return seconds;
}

}  // namespace rueda::bench
