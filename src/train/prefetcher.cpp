#include "train/prefetcher.hpp"

#include <algorithm>
#include <string>
#include <system_error>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace rueda {

Prefetcher::Prefetcher(PrefetchSource& source, std::size_t slots, std::size_t workers)
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

Prefetcher::~Prefetcher() {
  for (std::jthread& worker : workers_) worker.request_stop();
}

Prefetcher::Batch Prefetcher::take() {
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

void Prefetcher::release() {
  const std::lock_guard lock(mutex_);
  ++released_;
  work_.notify_all();
}

void Prefetcher::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (work_.wait(lock, stop, [this] { return has_work(); }) && !stop.stop_requested()) {
    const std::optional<Piece> piece = next_piece(kPieceImages);
    if (piece) prepare(*piece, lock);
  }
}

bool Prefetcher::has_work() {
  if (failure_) return false;
  return has_rest() || (!ended_ && begun_ - released_ < slots_.size());
}

bool Prefetcher::has_rest() {
  return begun_ > 0 && slot_of(begun_ - 1).handed_out < slot_of(begun_ - 1).images;
}

std::optional<Prefetcher::Piece> Prefetcher::next_piece(std::size_t largest) {
  if (!has_rest() && !begin_batch()) return std::nullopt;
  Slot& slot = slot_of(begun_ - 1);
  const std::size_t first = slot.handed_out;
  slot.handed_out += std::min(largest, slot.images - first);
  return Piece{(begun_ - 1) % slots_.size(), {first, slot.handed_out}};
}

bool Prefetcher::begin_batch() {
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

void Prefetcher::prepare(const Piece& piece, std::unique_lock<std::mutex>& lock) {
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

void Prefetcher::fail() {
  if (!failure_) failure_ = std::current_exception();
  ready_.notify_all();
}

}  // namespace rueda
