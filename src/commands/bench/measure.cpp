#include "measure.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

#include <spdlog/fmt/fmt.h>

#include "known_sums.hpp"
#include "rueda/core/error.hpp"

namespace rueda::bench {
namespace {

constexpr std::size_t kPiece = std::size_t{1}
                               << 16U;  // floats that pass through host memory at once
constexpr std::size_t kLeastRepetitions = 3;

double seconds_since(SteadyTime begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
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
    const SteadyTime begin = std::chrono::steady_clock::now();
    device.wait(candidate.reduce->sum(slice, device.record()));
    const double seconds = seconds_since(begin);
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
};

/// Rank 0's clock decides for all.
bool time_is_up(RankGroup& group, SteadyTime begin, double limit) {
  std::byte up{seconds_since(begin) > limit};
  group.broadcast({&up, 1}, 0);
  return up != std::byte{0};
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

std::size_t usual_repetitions(std::size_t bytes) {
  return std::clamp<std::size_t>(400'000'000 / std::max<std::size_t>(bytes, 1), 15, 500);
}

std::vector<Seconds> measure(const TestBed& bed, std::span<const Candidate> candidates,
                             std::size_t floats, const Effort& effort) {
  const SteadyTime begin = std::chrono::steady_clock::now();
  const std::size_t bytes = floats * sizeof(float);
  const std::size_t count = effort.repetitions > 0 ? effort.repetitions : usual_repetitions(bytes);
  const std::size_t warm_up = bytes < 1'000'000 ? 4 : 1;
  std::vector<Seconds> seconds(candidates.size());
  Sums sums(bed, floats);
  for (std::size_t round = 0; round < warm_up + count; ++round) {
    const auto kind = round % 2 == 0 ? KnownSums::Kind::whole : KnownSums::Kind::real;
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      const std::size_t turn = (round + k) % candidates.size();
      const double taken = sums.time(candidates[turn], kind);
      if (round >= warm_up) seconds[turn].push_back(taken);
    }
    sums.agree();
    const std::size_t done = round + 1 - std::min(round + 1, warm_up);
    if (time_is_up(bed.group, begin, effort.seconds) && done >= kLeastRepetitions) break;
  }
  for (Seconds& series : seconds) series = slowest_of(bed.group, series);
  return seconds;
}

}  // namespace rueda::bench
