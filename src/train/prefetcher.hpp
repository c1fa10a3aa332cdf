#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/split.hpp"
#include "rueda/train/timings.hpp"

namespace rueda {

/// What a Prefetcher prepares: batches in an order of the source's own, each in
/// one of the slots. An error is thrown to the caller of take().
class PrefetchSource {
 public:
  virtual ~PrefetchSource() = default;
  /// Chooses the next batch and puts it into `slot`. Returns its number of
  /// images, 0 once there are no more batches. One thread at a time.
  virtual std::size_t begin(std::size_t slot) = 0;
  /// Prepares some of its images. Several threads at a time, each with images of its own.
  virtual void prepare(std::size_t slot, Range images) = 0;
  /// All of them are prepared. Comes once, from the thread that prepared the last.
  virtual void complete(std::size_t slot, std::size_t images) = 0;
};

/// Few enough to share out a small batch, enough to make a turn at the lock rare.
inline constexpr std::size_t kPieceImages = 8;

/// Prepares batches ahead of their use on threads of its own, in pieces of a
/// few images, so that all threads work on the batch that is needed next. No
/// value depends on the thread that prepares it.
class Prefetcher {
 public:
  /// `source` outlives it. Without workers, `take` itself does the work. Throws
  /// RunError if threads are not to be had.
  Prefetcher(PrefetchSource& source, std::size_t slots, std::size_t workers);
  /// Ends the workers; what they have not taken up is left undone.
  /// All are asked before the first is waited for.
  ~Prefetcher();

  /// A batch that is ready.
  struct Batch {
    std::size_t slot = 0;
    std::size_t images = 0;
    double seconds = 0;  ///< of preparing it, all workers together
  };

  /// Waits for the next batch. Throws what the source threw, RunError if there is no batch left.
  Batch take();
  /// The oldest batch taken is not needed any more: its slot may be filled again.
  void release();

 private:
  /// A batch from its beginning to its release.
  struct Slot {
    std::size_t images = 0;
    std::size_t handed_out = 0;
    std::size_t prepared = 0;
    double seconds = 0;
    bool ready = false;
  };
  struct Piece {
    std::size_t slot = 0;
    Range images;
  };

  void work(const std::stop_token& stop);
  bool has_work();
  /// Of the batch begun last.
  bool has_rest();
  /// Of the batch begun last, or the first of a new one.
  std::optional<Piece> next_piece(std::size_t largest);
  bool begin_batch();
  void prepare(const Piece& piece, std::unique_lock<std::mutex>& lock);
  /// Only the first error counts: others may follow from it.
  void fail();
  Slot& slot_of(std::size_t batch) { return slots_[batch % slots_.size()]; }

  PrefetchSource& source_;
  std::mutex mutex_;  ///< guards everything below but the threads
  std::condition_variable_any work_;
  std::condition_variable ready_;
  std::vector<Slot> slots_;
  std::size_t begun_ = 0;  ///< batches so far; only the last may have images to hand out
  std::size_t taken_ = 0;
  std::size_t released_ = 0;
  bool ended_ = false;
  std::exception_ptr failure_;
  std::vector<std::jthread> workers_;  // last: they end before what they use goes
};

}  // namespace rueda
