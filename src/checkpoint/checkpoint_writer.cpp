#include "rueda/checkpoint/checkpoint_writer.hpp"

#include <utility>

#include "rueda/checkpoint/checkpoint.hpp"
#include "rueda/train/timings.hpp"

namespace rueda {

CheckpointWriter::CheckpointWriter(std::filesystem::path directory, const Graph& graph,
                                   std::size_t keep)
    : directory_(std::move(directory)), graph_(graph), keep_(keep) {
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

CheckpointWriter::~CheckpointWriter() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !order_; });
}

void CheckpointWriter::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !order_; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

bool CheckpointWriter::wait_for(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return !order_; });
}

Snapshot& CheckpointWriter::free_snapshot() {
  wait();
  return snapshot_;
}

void CheckpointWriter::write(Manifest manifest, double pause_seconds) {
  const std::lock_guard lock(mutex_);
  order_ = {std::move(manifest), pause_seconds};
  changed_.notify_all();
}

std::vector<CheckpointRecord> CheckpointWriter::take_records() {
  wait();
  const std::lock_guard lock(mutex_);
  return std::exchange(records_, {});
}

void CheckpointWriter::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return order_.has_value(); })) {
    Order& order = *order_;  // no other thread uses it until it is done
    lock.unlock();
    CheckpointRecord record;
    std::exception_ptr failure;
    try {
      record = carry_out(order);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (!failure) records_.push_back(std::move(record));
    failure_ = failure;
    order_.reset();
    changed_.notify_all();
  }
}

CheckpointRecord CheckpointWriter::carry_out(Order& order) {
  const Stopwatch watch;
  CheckpointRecord record;
  record.path = write_checkpoint(directory_, graph_, snapshot_, order.manifest).string();
  remove_older_checkpoints(directory_, keep_, record.path);
  record.epochs = order.manifest.position.epochs;
  record.steps = order.manifest.position.steps;
  for (const CheckpointFile& file : order.manifest.files) record.bytes += file.bytes;
  record.pause_seconds = order.pause_seconds;
  record.write_seconds = watch.seconds();
  return record;
}

}  // namespace rueda
