#include "rueda/checkpoint/checkpoint_writer.hpp"

#include "rueda/train/timings.hpp"

namespace rueda {

void CheckpointWriter::wait() {
  if (writing_.valid()) records_.push_back(writing_.get());
}

bool CheckpointWriter::wait_for(std::chrono::milliseconds time) {
  return !writing_.valid() || writing_.wait_for(time) == std::future_status::ready;
}

Snapshot& CheckpointWriter::free_snapshot() {
  wait();
  return snapshot_;
}

void CheckpointWriter::write(Manifest manifest, double pause_seconds) {
  writing_ = std::async(std::launch::async, &CheckpointWriter::carry_out, this, std::move(manifest),
                        pause_seconds);
}

std::vector<CheckpointRecord> CheckpointWriter::take_records() {
  wait();
  return std::exchange(records_, {});
}

CheckpointRecord CheckpointWriter::carry_out(Manifest manifest, double pause_seconds) const {
  const Stopwatch watch;
  CheckpointRecord record;
  record.path = write_checkpoint(directory_, graph_, snapshot_, manifest).string();
  remove_older_checkpoints(directory_, keep_, record.path);
  record.epochs = manifest.position.epochs;
  record.steps = manifest.position.steps;
  for (const CheckpointFile& file : manifest.files) record.bytes += file.bytes;
  record.pause_seconds = pause_seconds;
  record.write_seconds = watch.seconds();
  return record;
}

}  // namespace rueda
