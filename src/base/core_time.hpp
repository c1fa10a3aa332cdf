#pragma once

namespace rueda {

/// Seconds that threads ran on cores, and those for which they wanted to. They
/// are running totals or of a stretch, the difference of two totals.
struct CoreTime {
  double got = 0;     ///< CPU time of all threads together
  double wanted = 0;  ///< wall time x threads; 0: unknown

  /// The part that they got, 0 to 1; NaN: unknown.
  double share() const { return got / wanted; }
  CoreTime operator-(const CoreTime& b) const { return {got - b.got, wanted - b.wanted}; }
};

/// A rank that gets less of its cores is disturbed: by other programs, by a CPU
/// quota, or by other virtual machines. Threads that compute sleep for 1 or 2 %
/// of the time by themselves, and one interruption shows in a single step only.
inline constexpr double kFairShare = 0.85;

inline bool is_disturbed(double share) { return share < kFairShare; }

/// Lets `threads` threads do nothing but count for so many seconds.
CoreTime busy_core_time(int threads, double seconds);

}  // namespace rueda
