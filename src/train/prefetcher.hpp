#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
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
  Prefetcher(PrefetchSource& source, std::size_t slots, std::size_t workers)
      : source_(source), slots_(slots) {
    try {
      while (workers_.size() < workers)
        workers_.emplace_back([this](const std::stop_token& stop) { work(stop); });
    } catch (const std::system_error& error) {
      throw RunError("input worker " + std::to_string(workers_.size() + 1) + " of " +
                     std::to_string(workers) + " could not be started (" + error.what() +
                     "): lower --input-workers");
    }
  }
  /// Ends the workers; what they have not taken up is left undone.
  /// All are asked before the first is waited for.
  ~Prefetcher() {
    for (std::jthread& worker : workers_) worker.request_stop();
  }

  /// A batch that is ready.
  struct Batch {
    std::size_t slot = 0;
    std::size_t images = 0;
    double seconds = 0;  ///< of preparing it, all workers together
  };

  /// Waits for the next batch. Throws what the source threw, RunError if there is no batch left.
  Batch take() {
    std::unique_lock lock(mutex_);
    if (workers_.empty() && has_work()) {
      const auto batch = next_piece(SIZE_MAX);
      if (batch) prepare(*batch, lock);
    }
    const auto is_ready = [this] { return taken_ < begun_ && slot_of(taken_).ready; };
    ready_.wait(lock, [&] { return is_ready() || failure_ || (ended_ && taken_ == begun_); });
    if (failure_) std::rethrow_exception(failure_);
    if (!is_ready()) throw RunError("a batch was asked for after the last one of the run");
    const std::size_t index = taken_ % slots_.size();
    ++taken_;
    return {index, slots_[index].images, slots_[index].seconds};
  }
  /// The oldest batch taken is not needed any more: its slot may be filled again.
  void release() {
    const std::lock_guard lock(mutex_);
    ++released_;
    work_.notify_all();
  }

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

  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (work_.wait(lock, stop, [this] { return has_work(); }) && !stop.stop_requested()) {
      const std::optional<Piece> piece = next_piece(kPieceImages);
      if (piece) prepare(*piece, lock);
    }
  }
  bool has_work() {
    if (failure_) return false;
    return has_rest() || (!ended_ && begun_ - released_ < slots_.size());
  }
  /// Of the batch begun last.
  bool has_rest() {
    return begun_ > 0 && slot_of(begun_ - 1).handed_out < slot_of(begun_ - 1).images;
  }
  /// Of the batch begun last, or the first of a new one.
  std::optional<Piece> next_piece(std::size_t largest) {
    if (!has_rest() && !begin_batch()) return std::nullopt;
    Slot& slot = slot_of(begun_ - 1);
    const std::size_t first = slot.handed_out;
    slot.handed_out += std::min(largest, slot.images - first);
    return Piece{(begun_ - 1) % slots_.size(), {first, slot.handed_out}};
  }
  bool begin_batch() {
    std::size_t images = 0;
    try {
      images = source_.begin(begun_ % slots_.size());
    } catch (...) {
      fail();
      return false;
    }
    if (images == 0) {
      ended_ = true;
      ready_.notify_all();
      return false;
    }
    slot_of(begun_) = {.images = images};
    ++begun_;
    work_.notify_all();
    return true;
  }
  void prepare(const Piece& piece, std::unique_lock<std::mutex>& lock) {
    Slot& slot = slots_[piece.slot];
    lock.unlock();
    try {
      const Stopwatch watch;
      source_.prepare(piece.slot, piece.images);
      const double seconds = watch.seconds();
      lock.lock();
      slot.seconds += seconds;
      slot.prepared += piece.images.size();
      if (slot.prepared < slot.images) return;
      lock.unlock();
      source_.complete(piece.slot, slot.images);
      lock.lock();
      slot.ready = true;
      ready_.notify_all();
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      fail();
    }
  }
  /// Only the first error counts: others may follow from it.
  void fail() {
    if (!failure_) failure_ = std::current_exception();
    ready_.notify_all();
  }
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
