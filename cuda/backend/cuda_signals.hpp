#pragma once

#include "cuda/backend/recording.hpp"
#include "cuda/operations/operations.hpp"
#include "rueda/backend/announcements.hpp"
#include "rueda/backend/clocks.hpp"

namespace rueda::cuda {

/// Moments of the compute stream, by events.
class CudaClocks : public virtual Clocks {
 public:
  /// Keeps the reference.
  explicit CudaClocks(const Context& context) : context_(context) {}

  /// Without a profiler, or where the toolkit has no NVTX, nothing happens.
  void begin_range(const char* name) override;
  void end_range() override;
  void mark(Mark mark) override { marks_.set(mark, stream()); }
  ComputeSeconds compute_seconds() override { return marks_.seconds(); }
  void tick() override;
  std::vector<double> take_ticks() override;

 protected:
  /// All marks of a micro-batch are queued.
  void close_marks() { marks_.close(stream()); }

 private:
  cudaStream_t stream() const { return context_.stream.get(); }

  const Context& context_;
  StreamMarks marks_;
  std::vector<Event> ticks_;
  std::size_t ticked_ = 0;  ///< of these, since they were taken
};

/// Counters in the host's memory, which the device writes.
class CudaAnnouncements : public virtual Announcements {
 public:
  static constexpr std::size_t kCounters = kMostBuckets * sizeof(std::uint64_t);  ///< bytes

  /// Keeps the reference. Its stream exists.
  explicit CudaAnnouncements(Context& context);

  /// A kernel on one thread: it writes to host memory, so that is seen while the rest still runs.
  void announce(std::size_t bucket) override;
  std::uint64_t announced(std::size_t bucket) const override;

 private:
  cudaStream_t stream() const { return context_.stream.get(); }
  std::uint64_t* announcements() const { return static_cast<std::uint64_t*>(announcements_.get()); }

  Context& context_;
  DeviceMemory counts_ = make_device_memory(kCounters);         ///< of announcements, by bucket
  PinnedMemory announcements_ = make_pinned_memory(kCounters);  ///< the same, as the host sees it
};

}  // namespace rueda::cuda
