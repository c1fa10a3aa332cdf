#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>

#include "tests/standin/standin.hpp"

// What the runtime's functions share: devices, memory, streams and captures.

namespace rueda::standin {

/// The environment variable `name` as a whole number; `otherwise` where it is not set or is none.
std::size_t setting(const char* name, std::size_t otherwise);

/// Whether RUEDA_STANDIN_DELAY_US asks for delays. Then graphs, too, replay their nodes in another
/// order than that of the capture, as far as the captured dependencies allow.
bool has_delays();

/// Every item of work begins with it: waits from half of RUEDA_STANDIN_DELAY_US to one and a half,
/// the same for the same RUEDA_STANDIN_SEED and item.
void before_item();

/// Copies `bytes`; between host and device the first half at once, the rest after
/// RUEDA_STANDIN_COPY_US microseconds: what meanwhile reads the target or writes to the source
/// shows.
void copy_slowly(void* to, const void* from, std::size_t bytes);

/// Remembers an error for cudaGetLastError, as every function of the runtime does; returns `code`.
cudaError_t note(cudaError_t code);

/// Devices that this process sees: RUEDA_STANDIN_DEVICES (1), less those that CUDA_VISIBLE_DEVICES
/// leaves out.
int device_count();

/// The device that cudaSetDevice chose in this thread.
int current_device();

/// Memory of each device: RUEDA_STANDIN_MEMORY bytes (8 GiB).
std::size_t device_bytes();

/// Device memory of the host's lies at odd multiples of RUEDA_STANDIN_ALIGNMENT bytes, a power of
/// two up to 256, which is the least that CUDA promises.
std::size_t device_alignment();

enum class MemoryKind { device, pinned };

struct Block {
  std::size_t bytes;
  MemoryKind kind;
  int device;
};

struct PlacedBlock : Block {
  std::byte* begin;
};

/// All memory that the runtime has handed out, by address.
class MemoryMap {
 public:
  /// The one of this process; it is never destroyed.
  static MemoryMap& instance();

  /// Memory filled with kFresh, no better aligned than it has to be; null if the device has no
  /// more.
  void* allocate(std::size_t bytes, MemoryKind kind, int device);
  /// False if `memory` is not the begin of a block of this kind.
  bool release(void* memory, MemoryKind kind);
  /// The block that an address lies in.
  std::optional<PlacedBlock> find(const void* address) const;

  StandinMemory counts() const;
  void reset_peak();
  void count_copy_to_host(std::size_t bytes);
  std::size_t used(int device) const;

  static constexpr std::byte kFresh{0xA5};

 private:
  void count(const Block& block);
  void check_margin(const std::byte* end);

  mutable std::mutex mutex_;
  std::map<const std::byte*, Block> blocks_;
  std::map<int, std::size_t> used_;
  StandinMemory counts_;
};

/// Whether all of a range lies in one block, so that a device may use it.
bool is_device_range(const void* begin, std::size_t bytes);

/// Whether an address lies in device memory, which the host may not touch.
bool is_device_address(const void* address);

using Item = std::function<void()>;
class Stream;

/// A node of a graph. `prepare`, called when the graph is launched, gives what is to be done then.
struct Node {
  std::function<Item()> prepare;
  std::set<std::size_t> after;  ///< nodes that come before it
};

/// What is recorded between cudaStreamBeginCapture and cudaStreamEndCapture.
struct Capture {
  std::thread::id thread;
  Stream* origin;
  bool valid = true;
  bool ended = false;
  std::vector<Node> nodes = {};
  /// For each stream that takes part, the nodes after which its next one comes.
  std::map<Stream*, std::set<std::size_t>> frontier = {};

  /// Adds a node that follows all that the stream has in the capture.
  cudaError_t add(Stream& stream, std::function<Item()> prepare);
};

/// One lock for everything that orders work: submission, events, captures.
std::recursive_mutex& order_mutex();

/// Nodes of the largest graph that was made to run.
extern std::atomic<std::size_t> largest_graph;

/// Plans that cuDNN compiled at run time.
extern std::atomic<std::size_t> compilations;

/// The capture that a stream takes part in, or null. Called with the lock held.
std::shared_ptr<Capture> capture_of(const Stream& stream);

/// For calls that CUDA forbids in a thread while it captures: makes its captures invalid and
/// returns cudaErrorStreamCaptureUnsupported, or returns cudaSuccess.
cudaError_t forbid_in_capture();

/// For calls about a stream that do so while it takes part in a capture of any thread, or while
/// this thread captures. Called with the lock held.
cudaError_t forbid_for(const Stream& stream);

/// A point in a stream's work, reached once.
class Mark {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void reach();
  void wait();
  bool reached();
  /// When it was reached.
  Time time();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
  Time time_;
};

/// Work in order, done by one thread. What was pushed before the end of its life is still done
/// afterwards, as CUDA does it. No stream waits for the default stream, nor that one for them.
class Stream {
 public:
  explicit Stream(int device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void push(Item item);
  std::shared_ptr<Mark> push_mark();
  int device() const { return device_; }

 private:
  struct Queue;

  int device_;
  std::shared_ptr<Queue> queue_;
};

/// Queues `item` on a stream, or adds it to the capture that the stream takes part in. Errors:
/// cudaErrorInvalidResourceHandle and those of captures.
cudaError_t submit(cudaStream_t stream, Item item);

/// Notes a launch that is queued next, if they are noted now. What is known later may be added
/// until the stream has done it; null if they are not.
std::shared_ptr<StandinLaunch> note_launch(StandinLaunch launch);

/// Whether kernels that are queued now are to run.
bool kernels_run();

/// The stream of a handle; null is the current device's default stream. Null if the handle is
/// none.
Stream* find_stream(cudaStream_t handle);

/// Whether a stream is the default stream of its device.
bool is_legacy(const Stream& stream);

/// Waits for all work of all streams of a device.
void synchronize_device(int device);

}  // namespace rueda::standin

struct CUstream_st : rueda::standin::Stream {
  using Stream::Stream;
};
