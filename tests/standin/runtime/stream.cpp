#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "runtime.hpp"

namespace rueda::standin {

void Mark::reach() {
  const std::lock_guard lock(mutex_);
  reached_ = true;
  time_ = std::chrono::steady_clock::now();
  changed_.notify_all();
}

void Mark::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return reached_; });
}

bool Mark::reached() {
  const std::lock_guard lock(mutex_);
  return reached_;
}

Mark::Time Mark::time() {
  const std::lock_guard lock(mutex_);
  return time_;
}

struct Stream::Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Item> items;
  bool closed = false;

  void push(Item item) {
    const std::lock_guard lock(mutex);
    items.push_back(std::move(item));
    changed.notify_all();
  }

  /// Waits for an item and does it; false if there will be none.
  bool do_next() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return closed || !items.empty(); });
    if (items.empty()) return false;
    const Item item = std::move(items.front());
    items.pop_front();
    lock.unlock();
    item();
    return true;
  }
};

namespace {

struct Streams {
  std::set<Stream*> created;
  std::map<int, CUstream_st*> legacy;                            // by device, made when first used
  std::vector<std::pair<int, std::shared_ptr<Mark>>> destroyed;  // device and end of work
};

Streams& streams() {
  static auto& it = *new Streams;
  return it;
}

Stream* legacy_stream(int device) {
  CUstream_st*& stream = streams().legacy[device];
  if (stream == nullptr) stream = new CUstream_st(device);
  return stream;
}

std::vector<std::shared_ptr<Mark>> ends_of_work(int device) {
  const std::lock_guard lock(order_mutex());
  std::vector<std::shared_ptr<Mark>> marks;
  for (Stream* stream : streams().created) {
    if (stream->device() == device) marks.push_back(stream->push_mark());
  }
  auto& destroyed = streams().destroyed;
  std::erase_if(destroyed, [](const auto& end) { return end.second->reached(); });
  for (const auto& [of, end] : destroyed) {
    if (of == device) marks.push_back(end);
  }
  return marks;
}

/// Refuses what would wait for a device while a stream of it is being captured, by any thread.
cudaError_t forbid_for_device(int device) {
  const std::lock_guard lock(order_mutex());
  cudaError_t result = forbid_in_capture();
  for (Stream* stream : streams().created) {
    if (stream->device() == device && capture_of(*stream)) result = forbid_for(*stream);
  }
  return result;
}

}  // namespace

cudaError_t forbid_for(const Stream& stream) {
  if (const auto capture = capture_of(stream)) {
    capture->valid = false;
    return cudaErrorStreamCaptureUnsupported;
  }
  return forbid_in_capture();
}

Stream::Stream(int device) : device_(device), queue_(std::make_shared<Queue>()) {
  std::thread([queue = queue_] {
    while (queue->do_next()) {
    }
  }).detach();
  streams().created.insert(this);
}

Stream::~Stream() {
  streams().created.erase(this);
  streams().destroyed.emplace_back(device_, push_mark());
  const std::lock_guard lock(queue_->mutex);
  queue_->closed = true;
  queue_->changed.notify_all();
}

void Stream::push(Item item) { queue_->push(std::move(item)); }

std::shared_ptr<Mark> Stream::push_mark() {
  auto mark = std::make_shared<Mark>();
  push([mark] { mark->reach(); });
  return mark;
}

cudaError_t submit(cudaStream_t handle, Item item) {
  const std::lock_guard lock(order_mutex());
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (const auto capture = capture_of(*stream))
    return capture->add(*stream, [item = std::move(item)] { return item; });
  if (is_legacy(*stream)) {
    const cudaError_t code = forbid_in_capture();
    if (code != cudaSuccess) return code;
  }
  stream->push([item = std::move(item)] {
    before_item();
    item();
  });
  return cudaSuccess;
}

Stream* find_stream(cudaStream_t handle) {
  const std::lock_guard lock(order_mutex());
  if (handle == nullptr) return legacy_stream(current_device());
  return streams().created.count(handle) == 0 ? nullptr : handle;
}

bool is_legacy(const Stream& stream) {
  const auto found = streams().legacy.find(stream.device());
  return found != streams().legacy.end() && found->second == &stream;
}

void synchronize_device(int device) {
  for (const auto& mark : ends_of_work(device)) mark->wait();
}

}  // namespace rueda::standin

namespace standin = rueda::standin;
using standin::note;

extern "C" {

/// Only streams that the default stream does not wait for: the CUDA part makes no others.
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  if (standin::device_count() == 0) return note(cudaErrorNoDevice);
  if (flags != cudaStreamNonBlocking) return note(cudaErrorNotSupported);
  const std::lock_guard lock(standin::order_mutex());
  *stream = new CUstream_st(standin::current_device());
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  const std::lock_guard lock(standin::order_mutex());
  standin::Stream* stream = standin::find_stream(handle);
  if (stream == nullptr || standin::is_legacy(*stream)) {
    return note(cudaErrorInvalidResourceHandle);
  }
  if (const auto capture = standin::capture_of(*stream)) {
    capture->valid = false;
    capture->frontier.erase(stream);
  }
  delete handle;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  std::shared_ptr<standin::Mark> end;
  {
    const std::lock_guard lock(standin::order_mutex());
    standin::Stream* stream = standin::find_stream(handle);
    if (stream == nullptr) return note(cudaErrorInvalidResourceHandle);
    const cudaError_t code = standin::forbid_for(*stream);
    if (code != cudaSuccess) return note(code);
    end = stream->push_mark();
  }
  end->wait();
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  const cudaError_t code = standin::forbid_for_device(standin::current_device());
  if (code != cudaSuccess) return note(code);
  standin::synchronize_device(standin::current_device());
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return note(standin::submit(stream, [=] { function(data); }));
}

}  // extern "C"
