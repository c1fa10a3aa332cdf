#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bucket_waits.hpp"
#include "rueda/reduce/rank_group.hpp"
#include "rueda/reduce/reduce_journal.hpp"
#include "rueda/train/device_watch.hpp"
#include "rueda/train/phase_timer.hpp"
#include "rueda/train/run_record.hpp"
#include "rueda/train/timings.hpp"
#include "trace.hpp"

namespace rueda {

/// One rank's records of the epoch in hand, and how rank 0 comes by those of all. It talks to the
/// other ranks only before an epoch, after it, and in `gather`; never inside a step.
class EpochBook {
 public:
  /// Both outlive the book. `watch`: of the GPU, null without one.
  EpochBook(RankGroup& group, DeviceWatch* watch) : group_(group), watch_(watch) {}

  /// Collective: an epoch begins, whatever was written is dropped.
  void open();
  void add(const StepRecord& step, const std::vector<BucketRecord>& buckets);
  void add_trace(const std::vector<TraceSpan>& spans);
  /// Collective: the epoch's last step is over.
  void close();
  /// Collective: on rank 0 `epoch` and `run` get every rank's records, clocks, energy and samples
  /// of its GPU.
  void gather(RunRecord& run, EpochRecord& epoch);

 private:
  ClockOffset note_clock(double& time);
  double joules_so_far() const;
  void gather_steps(RunRecord& run, EpochRecord& epoch);
  void gather_device_use(RunRecord& run, EpochRecord& epoch);

  RankGroup& group_;
  DeviceWatch* watch_;
  std::vector<StepRecord> steps_;
  std::vector<BucketRecord> buckets_;
  ClockFit clock_;
  std::vector<TraceSpan> trace_;
  double energy_ = 0;  ///< joules: at first of the GPU's counter, then of the epoch's steps
};

}  // namespace rueda
