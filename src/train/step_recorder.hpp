#pragma once

#include <cstddef>
#include <vector>

#include "rueda/reduce/rank_group.hpp"
#include "rueda/train/device_watch.hpp"
#include "rueda/train/gradient_reducer.hpp"
#include "rueda/train/phase_timer.hpp"
#include "rueda/train/run_record.hpp"
#include "rueda/train/timings.hpp"
#include "rueda/train/trace.hpp"
#include "train_input.hpp"

namespace rueda {

/// Times one rank's steps and keeps the records of the current epoch: steps, buckets, trace,
/// energy. It talks to the other ranks only before an epoch, after it, and in `gather`; never
/// inside a step.
class StepRecorder {
 public:
  /// All outlive the recorder. `watch`: of the GPU, null without one. `traced`: steps of the run
  /// whose single acts go into the trace.
  StepRecorder(RankGroup& group, DeviceWatch* watch, GradientReducer& reducer, std::size_t traced)
      : group_(group), watch_(watch), reducer_(reducer), traced_(traced) {}

  /// Collective: an epoch begins; the records of the one before are dropped.
  void open_epoch();
  /// `global_step` counts from 1.
  void begin_step(std::size_t global_step);
  /// Of the step that runs.
  PhaseTimer& timer() { return timer_; }
  /// The step ends. `facts` has what the training loop knows; its times are filled in here.
  void end_step(StepRecord facts, const InputBusy& input);
  /// Collective: the epoch's last step is over.
  void close_epoch();
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
  GradientReducer& reducer_;
  std::size_t traced_;
  std::size_t global_step_ = 0;
  PhaseTimer timer_;
  std::vector<StepRecord> steps_;
  std::vector<BucketRecord> buckets_;
  ClockFit clock_;
  std::vector<TraceSpan> trace_;
  double energy_ = 0;  ///< joules: at first of the GPU's counter, then of the epoch's steps
};

}  // namespace rueda
